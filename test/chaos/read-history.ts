import type { SessionService } from '@agentmesh/agent';
import type { StoredEvent } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import { connectRedisStore } from '@agentmesh/store';
import { agentNames, countingTools, onceTools } from './agents.ts';
import { callsOf } from './check/log.ts';
import { type History, type InvocationHistory, nameOf, type SessionHistory } from './check/history.ts';
import type { Attempt } from './client.ts';
import { readEffects } from './effects.ts';
import type { Field } from './field.ts';
import { openQueues } from './queues.ts';
import { settle } from './settle.ts';
import type { Traffic } from './traffic.ts';

/** The time limit for all accepted work to end after the last kill, in ms. */
const defaultSettleMs = 45_000;
const pageSize = 1_000;

/** The history, with figures that the rules do not use. */
export interface FinalHistory extends History {
  redeliveries: number;
  ghosts: number;
  unsettled: string[];
}

/**
 * Waits until all work has ended, and reads the history. Work that has not ended in time is in the history in
 * its current state.
 */
export async function readHistory(
  field: Field,
  traffic: Traffic,
  settleMs = defaultSettleMs,
): Promise<FinalHistory> {
  await Promise.all(field.replicas.map((replica) => replica.ready()));
  await using store = await connectRedisStore({ url: field.redis.url });
  const { sessions } = store;
  await using queues = await openQueues(field.natsUrl);
  const unsettled = await settle({
    queues,
    timeoutMs: settleMs,
    running: () => running(sessions, traffic),
  });
  const roots = [...traffic.sessions.values()];
  const histories = (await Promise.all(roots.map((ref) => readSession(sessions, ref, {})))).flat();
  const invocations = await Promise.all(
    roots.map((ref) => readInvocations(sessions, ref, histories, traffic)),
  );
  const { executions, redeliveries } = readEffects(field.effects);
  return {
    sessions: histories,
    invocations: invocations.flat(),
    executions: executions.map(({ tool, callId, life }) => ({ tool, callId, replica: life })),
    counted: [...new Set(executions.map(({ callId }) => callId))],
    redeliveries,
    ghosts: await queues.kept(),
    unsettled,
    countingTools,
    onceTools,
    killed: field.replicas.flatMap(({ dead }) => dead),
  };
}

/** Returns the invocations that were acknowledged or have begun, and have not ended. */
async function running(sessions: SessionService, traffic: Traffic): Promise<string[]> {
  const found = await Promise.all(
    [...traffic.sessions.values()].map(async (ref) => {
      const ids = idsOf(await readLog(sessions, ref), toldOf(traffic, ref));
      const records = await Promise.all(
        ids.map((invocationId) => sessions.invocations.get({ ...ref, invocationId })),
      );
      return ids.filter((_id, at) => records[at]?.status === 'running');
    }),
  );
  return found.flat();
}

/** Reads a session, and the sessions of those of its calls that agents answered. */
async function readSession(
  sessions: SessionService,
  ref: SessionRef,
  more: Pick<SessionHistory, 'initialState' | 'callId'> | Record<string, never>,
): Promise<SessionHistory[]> {
  const session = await sessions.getSession({ ...ref, config: { numRecentEvents: 0 } });
  if (!session) return [];
  const events = await readLog(sessions, ref);
  const asks = callsOf(events).filter(({ name }) => agentNames.some((agent) => agent === name));
  const children = await Promise.all(
    asks.map(({ id }) => readSession(sessions, { ...ref, sessionId: id }, { callId: id })),
  );
  const own: SessionHistory = { ...ref, ...more, events, state: session.state };
  return [{ ...own, ...(own.callId === undefined && { initialState: {} }) }, ...children.flat()];
}

async function readLog(sessions: SessionService, ref: SessionRef): Promise<StoredEvent[]> {
  const log: StoredEvent[] = [];
  for (;;) {
    const page = await sessions.log.readEvents({ ...ref, afterSeq: log.at(-1)?.seq ?? 0, limit: pageSize });
    log.push(...page);
    if (page.length < pageSize) return log;
  }
}

/** Reads the invocations in the log, and those whose ids a client got. */
async function readInvocations(
  sessions: SessionService,
  ref: SessionRef,
  histories: readonly SessionHistory[],
  traffic: Traffic,
): Promise<InvocationHistory[]> {
  const log = histories.find((each) => nameOf(each) === nameOf(ref))?.events ?? [];
  const told = toldOf(traffic, ref);
  return await Promise.all(
    idsOf(log, told).map(async (invocationId) => {
      const { status } = await sessions.invocations.get({ ...ref, invocationId });
      const client = told.find((attempt) => attempt.invocationId === invocationId)?.view;
      return { ...ref, invocationId, acknowledged: client !== undefined, status, ...(client && { client }) };
    }),
  );
}

function toldOf({ operations }: Traffic, ref: SessionRef): Attempt[] {
  return operations
    .flatMap(({ attempts }) => attempts)
    .filter((attempt) => attempt.invocationId !== undefined && nameOf(attempt) === nameOf(ref));
}

function idsOf(log: readonly StoredEvent[], told: readonly Attempt[]): string[] {
  const ids = [
    ...told.flatMap(({ invocationId = [] }) => invocationId),
    ...log.map(({ event }) => event.invocationId),
  ];
  return [...new Set(ids)];
}
