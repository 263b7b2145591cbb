import { type AnsweredBy, type Event, MeshError, type SessionRef } from '@agentmesh/protocol';
import type { FunctionCall } from '@google/genai';
import { deadlinePassed } from '../events/deadlines.ts';
import { createEvent, getFunctionCalls, newInvocationId } from '../events/event.ts';
import { logIndex, noteUnread } from '../events/log-index.ts';
import { questionNames } from '../events/question.ts';
import { pickScopes } from '../events/state.ts';
import { type Session, unreadBefore } from './session.ts';
import type { SessionService } from './session-service.ts';

/** Events appended, or read, at a time. */
const pageSize = 200;

/**
 * Takes a session back to how it was before an invocation: an event says so, and what lies between counts no more. It stays in the log; what it did to
 * `app:` and `user:` state, to files and elsewhere is not undone. Calls that were left open there wait no longer. Returns the event.
 *
 * @throws MeshError `not_found` for a session, or an invocation in it, that is not there; `failed_precondition` for one that was rewound already; `resource_exhausted` while a run is at work in it
 */
export async function rewindSession(
  sessions: SessionService,
  ref: SessionRef,
  rewindBeforeInvocationId: string,
): Promise<Event> {
  const own = { ...ref, invocationId: newInvocationId() };
  const taken = await sessions.leases.take(own, { run: '', whenBusy: 'reject' });
  if (taken.state === 'gone') throw unknownSession(ref);
  if (taken.state !== 'held') {
    const why = `a run is at work in session ${ref.sessionId}; wait for its end, or cancel it`;
    throw new MeshError('resource_exhausted', why);
  }
  try {
    const session = await wholeSession(sessions, ref);
    const start = startOf(session.events, rewindBeforeInvocationId);
    const rewound = session.events.slice(start);
    const before = stateAfter((await sessions.log.initialState(ref)) ?? {}, session.events.slice(0, start));
    const changed = rewound.flatMap(({ actions }) =>
      Object.keys(pickScopes(actions.stateDelta, ['session'])),
    );
    const asked = new Set(rewound.flatMap((event) => getFunctionCalls(event).map(({ id }) => id)));
    assertKnown(session, before, changed);
    const open = (await sessions.pending.list(ref)).filter(({ id }) => asked.has(id));
    const event = createEvent({
      invocationId: own.invocationId,
      author: 'user',
      actions: {
        rewindBeforeInvocationId,
        rewindFromSeq: unreadBefore(session) + start + 1,
        stateDelta: Object.fromEntries(changed.map((key) => [key, before.get(key) ?? null])),
        ...(open.length > 0 && { closedCalls: open.map(({ id }) => id) }),
      },
    });
    return await sessions.appendEvent({ session, event, token: taken.token });
  } finally {
    await sessions.invocations.end(own, { status: 'completed' }, taken.token);
  }
}

export interface ForkOptions {
  /** Of the new session; default a fresh one. */
  sessionId?: string;
  /** The copy has what was said before this invocation; default all. */
  beforeInvocationId?: string;
}

/**
 * Copies a session: its log, up to an invocation where that is wanted, and its own state as it was then. Files stay with the original. Calls that wait there
 * for an answer are answered there alone: in the copy they have expired.
 *
 * @throws MeshError `not_found` for a session, or an invocation in it, that is not there; `already_exists` for an id in use
 */
export async function forkSession(
  sessions: SessionService,
  ref: SessionRef,
  { sessionId, beforeInvocationId }: ForkOptions = {},
): Promise<Session> {
  const session = await wholeSession(sessions, ref);
  const end = beforeInvocationId === undefined ? undefined : startOf(session.events, beforeInvocationId);
  const events = session.events.slice(0, end).map((event) => renumbered(event, unreadBefore(session)));
  const initial = (await sessions.log.initialState(ref)) ?? {};
  // Of a whole copy it is known, also where the first events are not kept.
  const isCut = unreadBefore(session) > 0 && end === undefined;
  const state = isCut ? pickScopes(session.state, ['session']) : initial;
  const { appName, userId } = ref;
  return await importSession(sessions, {
    ...{ appName, userId, state, events },
    ...(sessionId !== undefined && { sessionId }),
  });
}

/**
 * Makes a session of events from elsewhere. Their changes of the session's own state are made, those of `app:` and `user:` are not: others may have changed
 * these since. Calls that were left open have expired. A session that is not whole is removed again.
 *
 * @param request as that of `createSession`; `state` is what the session began with
 * @throws MeshError `already_exists` for an id in use; `invalid_argument` for events that cannot be kept
 */
export async function importSession(
  sessions: SessionService,
  { events, ...request }: Parameters<SessionService['createSession']>[0] & { events: readonly Event[] },
): Promise<Session> {
  assertHistory(events);
  const { id, appName, userId } = await sessions.createSession(request);
  const ref = { appName, userId, sessionId: id };
  try {
    const firsts = new Map<string, number>();
    for (const [at, { invocationId }] of events.entries())
      if (!firsts.has(invocationId)) firsts.set(invocationId, at);
    const all = [...events.map((event) => goingBack(event, firsts)), ...expiries(events)];
    for (let afterSeq = 0; afterSeq < all.length; afterSeq += pageSize)
      await sessions.log.appendHistory(ref, { afterSeq, events: all.slice(afterSeq, afterSeq + pageSize) });
    return await wholeSession(sessions, ref);
  } catch (error) {
    await sessions.deleteSession(ref);
    throw error;
  }
}

/** Where a rewind goes back to is found out here: numbers of elsewhere mean nothing. */
function goingBack(event: Event, firsts: ReadonlyMap<string, number>): Event {
  const { rewindBeforeInvocationId: before } = event.actions;
  if (before === undefined) return event;
  return { ...event, actions: { ...event.actions, rewindFromSeq: (firsts.get(before) ?? 0) + 1 } };
}

/** The copy's numbers begin with 1. */
function renumbered(event: Event, unread: number): Event {
  const { compaction } = event.actions;
  if (!compaction || unread === 0) return event;
  const throughSeq = Math.max(compaction.throughSeq - unread, 0);
  return { ...event, actions: { ...event.actions, compaction: { ...compaction, throughSeq } } };
}

/** @throws MeshError `invalid_argument` for events that no log of ours could have */
function assertHistory(events: readonly Event[]): void {
  const known = new Set<string>();
  const invocations = new Set<string>();
  for (const [at, { id, invocationId, partial, actions }] of events.entries()) {
    const { rewindBeforeInvocationId: before, compaction } = actions;
    const key = JSON.stringify([invocationId, id]);
    const problem = partial
      ? 'is a piece of one; leave pieces out'
      : known.has(key)
        ? `has the id of an earlier one, ${id}`
        : before !== undefined && !invocations.has(before)
          ? `goes back before invocation ${before}, of which nothing comes before it`
          : compaction && compaction.throughSeq > at
            ? `sums up ${compaction.throughSeq} events, and has ${at} before it`
            : undefined;
    if (problem !== undefined) throw new MeshError('invalid_argument', `event ${at} ${problem}`);
    known.add(key);
    invocations.add(invocationId);
  }
}

async function wholeSession(sessions: SessionService, ref: SessionRef): Promise<Session> {
  const { appName, userId, sessionId } = ref;
  const session = await sessions.getSession({ appName, userId, sessionId });
  if (!session) throw unknownSession(ref);
  noteUnread(session.events, unreadBefore(session));
  return session;
}

function unknownSession({ appName, userId, sessionId }: SessionRef): MeshError {
  return new MeshError('not_found', `there is no session ${sessionId} of user ${userId} in app ${appName}`);
}

/** Position of an invocation's first event. */
function startOf(events: readonly Event[], invocationId: string): number {
  const index = logIndex(events);
  const [first] = index.ofInvocation(invocationId);
  const start = first && index.positionOf(first.id);
  if (start !== undefined) return start;
  if (events.some((event) => event.invocationId === invocationId))
    throw new MeshError('failed_precondition', `invocation ${invocationId} has been rewound already`);
  throw new MeshError('not_found', `there is no invocation ${invocationId} in the session`);
}

/** Of a long session the first events may not be kept. @throws MeshError `failed_precondition` */
function assertKnown(
  session: Session,
  before: ReadonlyMap<string, unknown>,
  changed: readonly string[],
): void {
  const unknown = unreadBefore(session) > 0 ? changed.find((key) => !before.has(key)) : undefined;
  if (unknown === undefined) return;
  throw new MeshError(
    'failed_precondition',
    `what ${unknown} was before is not known any more: the first events of session ${session.id} are gone`,
  );
}

/** The session's own state after some events. */
function stateAfter(initial: Record<string, unknown>, events: readonly Event[]): Map<string, unknown> {
  const state = new Map(Object.entries(initial));
  for (const { actions } of events)
    for (const [key, value] of Object.entries(pickScopes(actions.stateDelta, ['session'])))
      state.set(key, value);
  return state;
}

/** What ends the calls that a log leaves open: it has been copied, and whoever answers does so where it comes from. */
function expiries(events: readonly Event[]): Event[] {
  const index = logIndex(events);
  const isAnswered = (id: string) =>
    index
      .responsesTo(id)
      .some(
        ({ event, response }) =>
          response.willContinue === false || (event.author === 'user' && !response.willContinue),
      );
  const open = index
    .visible()
    .flatMap((event) =>
      getFunctionCalls(event).filter(
        ({ id }) => id !== undefined && event.longRunningToolIds?.includes(id) && !isAnswered(id),
      ),
    );
  if (open.length === 0) return [];
  const answeredBy: AnsweredBy = { by: 'copy', via: 'deadline' };
  return [
    createEvent({
      invocationId: newInvocationId(),
      author: 'user',
      content: { role: 'user', parts: open.map((call) => ({ functionResponse: expired(call) })) },
      customMetadata: { answeredBy },
    }),
  ];
}

function expired({ id, name }: FunctionCall) {
  const kind = name === questionNames.confirmation ? 'confirmation' : 'result';
  const response = {
    ...deadlinePassed({ kind }),
    error: 'the session was copied; the call waits in the original',
  };
  return { ...(id !== undefined && { id }), ...(name !== undefined && { name }), response };
}
