import type { SessionService } from '@agentmesh/agent';
import { endOfRun, type InvocationRecord, messageEventId, type StoredEvent } from '@agentmesh/agent/internal';
import { provisionUser } from '@agentmesh/mesh';
import type { SessionRef } from '@agentmesh/protocol';
import { connectRedisStore } from '@agentmesh/store';
import { until } from '@agentmesh/testing';
import { agentNames, countingTools, onceTools } from './agents.ts';
import {
  type Act,
  type Ending,
  type History,
  type InvocationHistory,
  type Message,
  nameOf,
  type Observations,
  type Rest,
  type SessionHistory,
} from './check/history.ts';
import { callsOf } from './check/log.ts';
import { isBesideRuns } from './check/model.ts';
import { readEffects } from './effects.ts';
import type { Field } from './field.ts';
import { openQueues, type Queues } from './queues.ts';
import { readRedisRest } from './redis-rest.ts';
import { settle } from './settle.ts';

/** The time limit for all accepted work to end after the last fault, in ms. */
const defaultSettleMs = 45_000;
/**
 * The time for what goes away by itself, in ms: a claim ends with its lease, an object is removed after the
 * acknowledgement of its message, a sweep finds waiting runs.
 */
const clearMs = 10_000;
const pageSize = 1_000;

/** The history, with figures that the rules do not use. */
export interface FinalHistory extends History {
  redeliveries: number;
  /**
   * The number of large payloads that only a sweep removed: because the process that had to remove them died, or
   * because services have accounts, with which none may remove them.
   */
  lostPayloads: number;
}

export interface ReadOptions {
  settleMs?: number | undefined;
  /** The least share of completed messages that the rules demand; 0 for a run that proves something else. */
  leastShare: number;
}

/**
 * Waits until all work has ended, and reads the history from the stores and from NATS. Work that has not ended
 * in time is in the history in its current state.
 */
export async function readHistory(
  field: Field,
  observations: Observations,
  { settleMs = defaultSettleMs, leastShare }: ReadOptions,
): Promise<FinalHistory> {
  await Promise.all(field.replicas.map((replica) => replica.ready()));
  await using store = await connectRedisStore({ url: field.redis.url });
  const { sessions } = store;
  await using queues = await openQueues(field.natsUrl, field.login(provisionUser));
  const running = async () => {
    const { invocations } = await readSessions(sessions, observations);
    return invocations.flatMap(({ status, invocationId }) => (status === 'running' ? invocationId : []));
  };
  const { streams, unsettled } = await settle({ queues, timeoutMs: settleMs, running });
  const { lostPayloads, ...rest } = await readRest(field, queues);
  return {
    lostPayloads,
    ...observations,
    ...(await readSessions(sessions, observations)),
    ...readEffects(field.effects),
    ...{ countingTools, onceTools, unsettled, leastShare },
    rest: { streams, ...rest },
  };
}

/** Reads what is left when all work has ended. Waits for what still goes away by itself. */
async function readRest(
  { redis }: Field,
  queues: Queues,
): Promise<Omit<Rest, 'streams'> & { lostPayloads: number }> {
  const read = async () => ({
    redis: await readRedisRest(redis.nodes),
    objects: await queues.objects(),
    deadLetters: await queues.deadLetters(),
  });
  let rest = await read();
  const isClear = async () => {
    rest = await read();
    return [rest.objects, ...Object.values(rest.redis)].every(({ length }) => length === 0);
  };
  // The rules report what stays.
  await until(isClear, { timeoutMs: clearMs, intervalMs: 500 }).catch(() => {});
  const lostPayloads = rest.objects.length > 0 ? await queues.removeLostPayloads() : 0;
  return { ...rest, objects: await queues.objects(), lostPayloads };
}

/** Reads all sessions that the clients know, and the records of their invocations. */
async function readSessions(
  sessions: SessionService,
  observations: Observations,
): Promise<Pick<History, 'sessions' | 'invocations'>> {
  const read: SessionHistory[] = [];
  const invocations: InvocationHistory[] = [];
  // One after the other: thousands at once keep this process busy for longer than Redis has time to answer.
  for (const ref of rootsOf(observations)) {
    const found = await readSession(sessions, ref, observations);
    read.push(...found);
    const [root] = found;
    if (root && !root.deleted) invocations.push(...(await readInvocations(sessions, root, observations)));
  }
  return { sessions: read, invocations };
}

/** Returns all sessions that the clients know. */
function rootsOf({ messages, acts }: Observations): SessionRef[] {
  const forks = acts.flatMap(({ session, forkId }) =>
    forkId === undefined ? [] : [{ ...session, sessionId: forkId }],
  );
  const all = [...messages.map(({ session }) => session), ...acts.map(({ session }) => session), ...forks];
  return [...new Map(all.map((ref) => [nameOf(ref), ref])).values()];
}

/** Reads a session, and the sessions of those of its calls that agents answered. */
async function readSession(
  sessions: SessionService,
  ref: SessionRef,
  observations: Observations,
  callId?: string,
): Promise<SessionHistory[]> {
  const session = await sessions.getSession({ ...ref, config: { numRecentEvents: 0 } });
  const events = session && (await readLog(sessions, ref));
  const { appName, userId, sessionId } = ref;
  const own = { appName, userId, sessionId, ...(callId !== undefined && { callId }) };
  // The session of a call may never have begun.
  if (!session || !events)
    return callId === undefined ? [{ ...own, events: [], state: {}, pending: [], deleted: true }] : [];
  const source = observations.acts.find(({ kind, forkId }) => kind === 'fork' && forkId === sessionId);
  const copied = source ? copiedIn(ref, events, observations) : [];
  // The sessions of copied calls belong to the original.
  const asks = callsOf(events).filter(
    ({ name, invocationId }) => agentNames.some((agent) => agent === name) && !copied.includes(invocationId),
  );
  const children = await Promise.all(
    asks.map(({ id }) => readSession(sessions, { ...own, sessionId: id }, observations, id)),
  );
  const pending = await sessions.pending.list(own);
  const root: SessionHistory = {
    ...own,
    ...{ events, state: session.state },
    ...(callId === undefined && { initialState: (await sessions.log.initialState(own)) ?? {} }),
    ...(source && { forkOf: source.session, copied }),
    pending: pending.map(({ id, kind, deadline }) => ({
      callId: id,
      kind,
      ...(deadline !== undefined && { deadline }),
    })),
  };
  return [root, ...children.flat()];
}

/** Returns the invocations in a copied log that no message to the copy began. */
function copiedIn(ref: SessionRef, events: readonly StoredEvent[], { messages }: Observations): string[] {
  const told = new Set(
    messages.flatMap(({ session, invocationId = [] }) =>
      nameOf(session) === nameOf(ref) ? invocationId : [],
    ),
  );
  const first = new Map(events.toReversed().map(({ event }) => [event.invocationId, event.id]));
  return [...first].flatMap(([invocationId, id]) =>
    told.has(invocationId) || id.startsWith(messageEventId({ invocationId }, ref.sessionId))
      ? []
      : [invocationId],
  );
}

/** Reads the log of a session; undefined if there is none. */
async function readLog(sessions: SessionService, ref: SessionRef): Promise<StoredEvent[] | undefined> {
  const log: StoredEvent[] = [];
  for (;;) {
    const session = await sessions.getSession({ ...ref, config: { numRecentEvents: 0 } });
    if (!session) return undefined;
    const page = await sessions.log.readEvents({ ...ref, afterSeq: log.at(-1)?.seq ?? 0, limit: pageSize });
    log.push(...page);
    if (page.length < pageSize) return log;
  }
}

/**
 * Reads the invocations in the log, and those whose ids a client got. Invocations without runs have no records
 * that matter: rewinds, and what a forked session has from its original.
 */
async function readInvocations(
  sessions: SessionService,
  root: SessionHistory,
  observations: Observations,
): Promise<InvocationHistory[]> {
  const { appName, userId, sessionId, events } = root;
  const ref = { appName, userId, sessionId };
  const told = observations.messages.flatMap((message) =>
    nameOf(message.session) === nameOf(ref) && mayHaveRun(message, observations)
      ? (message.invocationId ?? [])
      : [],
  );
  const logged = events.map(({ event }) => event.invocationId);
  const ids = [...new Set([...told, ...logged])].filter((id) => !isBesideRuns(root, id));
  return await Promise.all(
    ids.map(async (invocationId) => {
      const record = await sessions.invocations.get({ ...ref, invocationId });
      const { status, cancelled } = record;
      return {
        ...ref,
        invocationId,
        status,
        ends: endsOf(record),
        ...(cancelled !== undefined && { cancelled }),
      };
    }),
  );
}

/** Tells whether a message may have a run that is recorded: it was not refused, and no deletion came after it. */
function mayHaveRun({ session, refused, sentAt }: Message, { acts }: Observations): boolean {
  const isLater = ({ kind, outcome, doneAt = Number.POSITIVE_INFINITY, ...act }: Act) =>
    kind === 'delete' && outcome !== 'refused' && doneAt >= sentAt && nameOf(act.session) === nameOf(session);
  return !refused && !acts.some(isLater);
}

function endsOf(record: InvocationRecord): Ending[] {
  const first = endOfRun(record);
  const ends = record.ends ? [...record.ends] : first ? [['', first] as const] : [];
  return ends.map(([resume, { status, error }]) => ({
    ...(resume !== '' && { resume }),
    status,
    ...(error && { code: error.code }),
  }));
}
