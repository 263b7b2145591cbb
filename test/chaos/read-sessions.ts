import type { SessionService } from '@agentmesh/agent';
import { endOfRun, type InvocationRecord, messageEventId, type StoredEvent } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import { agentNames } from './agents.ts';
import {
  type Act,
  type Ending,
  type History,
  type InvocationHistory,
  type Message,
  nameOf,
  type Observations,
  type SessionHistory,
} from './check/history.ts';
import { callsOf } from './check/log.ts';
import { isBesideRuns } from './check/model.ts';

/** The sessions and runs that the clients know. */
type Known = Pick<Observations, 'messages' | 'acts'>;

const pageSize = 1_000;

/** Reads all sessions that the clients know, and the records of their invocations. */
export async function readSessions(
  sessions: SessionService,
  observations: Known,
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
function rootsOf({ messages, acts }: Known): SessionRef[] {
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
  observations: Known,
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
function copiedIn(ref: SessionRef, events: readonly StoredEvent[], { messages }: Known): string[] {
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
  observations: Known,
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
function mayHaveRun({ session, refused, sentAt }: Message, { acts }: Known): boolean {
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
