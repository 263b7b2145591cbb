import { MeshError, type Subjects } from '@agentmesh/protocol';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { millis, type NatsConnection } from '@nats-io/nats-core';
import type { Delivery, Link, OnError, WorkSource } from '../link.ts';
import { pause } from '../work/consume.ts';
import { toDelivery } from './delivery.ts';
import { fromNats, isDenied, isMissing, isNobodyThere, jetStreamOff, provisionHint } from './errors.ts';
import { defaultAckWaitMs, putRunConsumer } from './provision.ts';
import { pullOne } from './pull.ts';

export interface WorkSourceParts {
  connection: NatsConnection;
  link: Link;
  subjects: Subjects;
  onError: OnError;
}

const firstPauseMs = 250;
const longestPauseMs = 5_000;

/**
 * The run queue of one agent, by its durable pull consumer.
 *
 * @throws MeshError `failed_precondition` when it was not provisioned
 */
export async function openWorkSource(parts: WorkSourceParts, agent: string): Promise<WorkSource> {
  const { connection, link, subjects, onError } = parts;
  const ackWaitMs = await prepareConsumer(connection, subjects, agent);
  const consumer = `${subjects.runStream}.${subjects.runConsumer(agent)}`;
  const pullSubject = `${jetstream(connection).apiPrefix}.CONSUMER.MSG.NEXT.${consumer}`;
  let pulls = 0;
  let failures = 0;

  async function pull(signal: AbortSignal): Promise<Delivery | undefined> {
    await untilConnected(link, signal);
    if (signal.aborted || link.closed.aborted) return undefined;
    try {
      const inbox = `${link.inbox}.pull.${(pulls++).toString(36)}`;
      const msg = await pullOne(connection, link, { subject: pullSubject, inbox }, signal);
      failures = 0;
      return msg && toDelivery(connection, link, msg);
    } catch (thrown) {
      failures += 1;
      // All slots fail together, and the queue may be gone for hours: once is enough.
      if (failures === 1) onError(fromNats(thrown, `consume ${agent}`), `consume ${agent}`);
      await pause(Math.min(firstPauseMs * 2 ** Math.min(failures, 8), longestPauseMs), signal);
      return undefined;
    }
  }

  return { ackWaitMs, pull };
}

/** Resolves when the connection is there, however long it takes, or when there is no point in waiting. */
async function untilConnected(link: Link, signal: AbortSignal): Promise<void> {
  const stop = AbortSignal.any([signal, link.closed]);
  if (link.connected || stop.aborted) return;
  await new Promise<void>((resolve) => {
    const forget = link.onConnected(finish);
    stop.addEventListener('abort', finish);
    function finish() {
      forget();
      stop.removeEventListener('abort', finish);
      resolve();
    }
  });
}

/** Looks at the consumer, or makes it where that is allowed. Returns its ack wait in ms. */
async function prepareConsumer(
  connection: NatsConnection,
  subjects: Subjects,
  agent: string,
): Promise<number> {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const { runStream } = subjects;
  const consumer = subjects.runConsumer(agent);
  try {
    const { config } = await manager.consumers.info(runStream, consumer);
    return millis(config.ack_wait ?? 0) || defaultAckWaitMs;
  } catch (thrown) {
    // Under tight permissions a service may use its consumer and not look at it.
    if (isDenied(thrown)) return defaultAckWaitMs;
    if (isNobodyThere(thrown)) throw jetStreamOff(thrown);
    if (!isMissing(thrown)) throw fromNats(thrown, `consume ${agent}`);
  }
  try {
    await putRunConsumer(manager, subjects, agent, defaultAckWaitMs);
    return defaultAckWaitMs;
  } catch (thrown) {
    if (!isDenied(thrown) && !isMissing(thrown)) throw fromNats(thrown, `consume ${agent}`);
    throw new MeshError(
      'failed_precondition',
      `stream ${runStream} has no consumer ${consumer} for the runs of ${agent}; ${provisionHint} with this agent's name`,
      { cause: thrown },
    );
  }
}
