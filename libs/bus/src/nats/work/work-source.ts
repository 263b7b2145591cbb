import { MeshError, type QueueName, type Subjects } from '@agentmesh/protocol';
import { type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { millis, type NatsConnection } from '@nats-io/nats-core';
import type { BrokerLink, Delivery, OnError, WorkSource } from '../../bus/broker-link.ts';
import { pause } from '../../bus/pause.ts';
import { within } from '../../bus/started.ts';
import { isDenied } from '../wire/is-denied.ts';
import { fromNats, isMissing, isNobodyThere, jetStreamOff, provisionHint } from '../wire/nats-errors.ts';
import { toDelivery } from './delivery.ts';
import { pullSome } from './pull.ts';
import { defaultAckWaitMs } from './work-consumer.ts';
import { putQueues } from './work-subjects.ts';

export interface WorkSourceParts {
  connection: NatsConnection;
  link: BrokerLink;
  subjects: Subjects;
  onError: OnError;
}

const firstPauseMs = 250;
const longestPauseMs = 1_000;

/**
 * Opens a work queue by its durable pull consumer.
 *
 * @throws MeshError `failed_precondition` when the queue was not provisioned
 */
export async function openWorkSource(parts: WorkSourceParts, queue: QueueName): Promise<WorkSource> {
  const { connection, link, subjects, onError } = parts;
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const ackWaitMs = await prepareConsumer(manager, subjects, queue);
  const stream = subjects.workStream(queue.kind);
  const consumer = subjects.workConsumer(queue.name);
  const where = `consume ${describe(queue)}`;
  const subject = `${jetstream(connection).apiPrefix}.CONSUMER.MSG.NEXT.${stream}.${consumer}`;
  const ending = new AbortController();
  const revoking = new AbortController();
  const open = new Set<Promise<unknown>>();
  let failures = 0;

  async function ask(count: number, take: (delivery: Delivery) => void): Promise<void> {
    const inbox = `${link.inbox}.pull.${crypto.randomUUID()}`;
    const request = pullSome(
      connection,
      link,
      { subject, inbox, count },
      (msg) => take(toDelivery(connection, link, msg)),
      revoking.signal,
    );
    const over = request.catch(() => {}).finally(() => open.delete(over));
    open.add(over);
    await request;
  }

  return {
    ackWaitMs,
    async pull(count, take) {
      await untilConnected(link, ending.signal);
      if (ending.signal.aborted || link.closed.aborted) return;
      try {
        await ask(count, take);
        failures = 0;
      } catch (thrown) {
        failures += 1;
        // The queue may be missing for hours: one report is enough.
        if (failures === 1) onError(fromNats(thrown, where), where);
        await pause(Math.min(firstPauseMs * 2 ** Math.min(failures, 8), longestPauseMs), ending.signal);
      }
    },
    async withdraw(withinMs) {
      ending.abort();
      await within(withinMs, Promise.all(open));
      revoking.abort();
      await Promise.all(open);
    },
  };
}

/** Describes the queue in words. */
function describe({ kind, name }: QueueName): string {
  return `${kind}s of ${name}`;
}

/**
 * Waits for the connection without a time limit. Ends early when the signal is aborted or the link is closed.
 */
async function untilConnected(link: BrokerLink, signal: AbortSignal): Promise<void> {
  const stop = AbortSignal.any([signal, link.closed]);
  if (link.connected || stop.aborted) return;
  await new Promise<void>((resolve) => {
    const removeListener = link.onConnected(finish);
    stop.addEventListener('abort', finish);
    function finish() {
      removeListener();
      stop.removeEventListener('abort', finish);
      resolve();
    }
  });
}

/** Reads the consumer's settings, or makes the consumer where that is allowed. Returns its ack wait in ms. */
async function prepareConsumer(
  manager: JetStreamManager,
  subjects: Subjects,
  queue: QueueName,
): Promise<number> {
  const stream = subjects.workStream(queue.kind);
  const consumer = subjects.workConsumer(queue.name);
  try {
    const { config } = await manager.consumers.info(stream, consumer);
    return millis(config.ack_wait ?? 0) || defaultAckWaitMs;
  } catch (thrown) {
    // Under tight permissions a service may use its consumer, but may not read its settings.
    if (isDenied(thrown)) return defaultAckWaitMs;
    if (isNobodyThere(thrown)) throw jetStreamOff(thrown);
    if (!isMissing(thrown)) throw fromNats(thrown, `consume ${describe(queue)}`);
  }
  try {
    const { kind, name } = queue;
    await putQueues({ manager, names: subjects, kind }, [name], defaultAckWaitMs);
    return defaultAckWaitMs;
  } catch (thrown) {
    if (!isDenied(thrown) && !isMissing(thrown)) throw fromNats(thrown, `consume ${describe(queue)}`);
    throw new MeshError(
      'failed_precondition',
      `stream ${stream} has no consumer ${consumer} for the ${describe(queue)}; ${provisionHint} with this name`,
      { cause: thrown },
    );
  }
}
