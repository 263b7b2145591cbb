import { type Event, MeshError, type SessionRef } from '@agentmesh/protocol';
import type { FunctionCall } from '@google/genai';
import { deadlinePassed } from '../events/deadlines.ts';
import { createEvent, getFunctionCalls, newInvocationId } from '../events/event.ts';
import { logIndex, noteUnread } from '../events/log-index.ts';
import { questionNames } from '../events/question.ts';
import { pickScopes } from '../events/state.ts';
import { copied, copiedReason, withoutLooseConfirmations } from './loose-confirmations.ts';
import { type Session, unreadBefore } from './session.ts';
import { noSession } from './session-errors.ts';
import type { SessionService } from './session-service.ts';

/** Number of events that are appended or read at a time. */
const pageSize = 200;

/**
 * Rewinds a session to its state before an invocation. A new event records this, and the events in between
 * have no effect any more. They stay in the log; their changes of `app:` and `user:` state, files and other
 * effects are not undone. Their pending calls are closed. Returns the new event.
 *
 * @throws MeshError `not_found` for an unknown session, or an invocation that is not in it;
 * `failed_precondition` for an invocation that was rewound already; `resource_exhausted` while the session
 * has a running run
 */
export async function rewindSession(
  sessions: SessionService,
  ref: SessionRef,
  rewindBeforeInvocationId: string,
): Promise<Event> {
  const ownRef = { ...ref, invocationId: newInvocationId() };
  const lease = await sessions.leases.take(ownRef, { run: '', whenBusy: 'reject' });
  if (lease.state === 'gone') throw noSession(ref);
  if (lease.state !== 'held') {
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
    const callIds = new Set(rewound.flatMap((event) => getFunctionCalls(event).map(({ id }) => id)));
    assertKnown(session, before, changed);
    const open = (await sessions.pending.list(ref)).filter(({ id }) => callIds.has(id));
    const event = createEvent({
      invocationId: ownRef.invocationId,
      author: 'user',
      actions: {
        rewindBeforeInvocationId,
        rewindFromSeq: unreadBefore(session) + start + 1,
        stateDelta: Object.fromEntries(changed.map((key) => [key, before.get(key) ?? null])),
        ...(open.length > 0 && { closedCalls: open.map(({ id }) => id) }),
      },
    });
    return await sessions.appendEvent({ session, event, token: lease.token });
  } finally {
    await sessions.invocations.end(ownRef, { status: 'completed' }, lease.token);
  }
}

export interface ForkOptions {
  /** Id of the new session; default: a new id. */
  sessionId?: string;
  /** The copy ends before this invocation; default: it holds all events. */
  beforeInvocationId?: string;
}

/**
 * Copies a session: its log (all of it, or up to an invocation), and its own state at that time. Files stay
 * with the original. Its pending calls can be answered in the original only: in the copy they have expired.
 *
 * @throws MeshError `not_found` for an unknown session, or an invocation that is not in it; `already_exists`
 * for an id in use
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
  // The state of a whole copy is known even if the first events are not stored.
  const isCut = unreadBefore(session) > 0 && end === undefined;
  const state = isCut ? pickScopes(session.state, ['session']) : initial;
  const { appName, userId } = ref;
  return await importSession(sessions, {
    ...{ appName, userId, state, events },
    ...(sessionId !== undefined && { sessionId }),
  });
}

/**
 * Makes a session of imported events. Their changes of the session's own state are applied; changes of `app:`
 * and `user:` state are not, because other sessions may have changed that state since. Pending calls have
 * expired, and so have confirmed calls that have not run: nothing proves who confirmed them. A session that
 * cannot be completed is deleted again.
 *
 * @param request as for `createSession`; `state` is the initial state of the session
 * @throws MeshError `already_exists` for an id in use; `invalid_argument` for events that cannot be stored
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
    const past = withoutLooseConfirmations(events).map((event) => goingBack(event, firsts));
    const all = [...past, ...expiries(events)];
    for (let afterSeq = 0; afterSeq < all.length; afterSeq += pageSize)
      await sessions.log.appendHistory(ref, { afterSeq, events: all.slice(afterSeq, afterSeq + pageSize) });
    return await wholeSession(sessions, ref);
  } catch (error) {
    await sessions.deleteSession(ref);
    throw error;
  }
}

/** Computes the target of a rewind anew: numbers of another log mean nothing here. */
function goingBack(event: Event, firsts: ReadonlyMap<string, number>): Event {
  const { rewindBeforeInvocationId: before } = event.actions;
  if (before === undefined) return event;
  return { ...event, actions: { ...event.actions, rewindFromSeq: (firsts.get(before) ?? 0) + 1 } };
}

/** Adapts the numbers in an event, because the numbers of the copy begin with 1. */
function renumbered(event: Event, unread: number): Event {
  const { compaction } = event.actions;
  if (!compaction || unread === 0) return event;
  const throughSeq = Math.max(compaction.throughSeq - unread, 0);
  return { ...event, actions: { ...event.actions, compaction: { ...compaction, throughSeq } } };
}

/** @throws MeshError `invalid_argument` for events that cannot form a log */
function assertHistory(events: readonly Event[]): void {
  const knownKeys = new Set<string>();
  const invocations = new Set<string>();
  for (const [at, { id, invocationId, partial, actions }] of events.entries()) {
    const { rewindBeforeInvocationId: before, compaction } = actions;
    const key = JSON.stringify([invocationId, id]);
    const problem = partial
      ? 'is partial; leave partial events out'
      : knownKeys.has(key)
        ? `has the id of an earlier one, ${id}`
        : before !== undefined && !invocations.has(before)
          ? `rewinds to before invocation ${before}, which has no earlier event`
          : compaction && compaction.throughSeq > at
            ? `summarizes ${compaction.throughSeq} events, but only ${at} come before it`
            : undefined;
    if (problem !== undefined) throw new MeshError('invalid_argument', `event ${at} ${problem}`);
    knownKeys.add(key);
    invocations.add(invocationId);
  }
}

async function wholeSession(sessions: SessionService, ref: SessionRef): Promise<Session> {
  const { appName, userId, sessionId } = ref;
  const session = await sessions.getSession({ appName, userId, sessionId });
  if (!session) throw noSession(ref);
  noteUnread(session.events, unreadBefore(session));
  return session;
}

/** Returns the position of an invocation's first event. */
function startOf(events: readonly Event[], invocationId: string): number {
  const index = logIndex(events);
  const [first] = index.ofInvocation(invocationId);
  const start = first && index.positionOf(first.id);
  if (start !== undefined) return start;
  if (events.some((event) => event.invocationId === invocationId))
    throw new MeshError('failed_precondition', `invocation ${invocationId} has been rewound already`);
  throw new MeshError('not_found', `there is no invocation ${invocationId} in the session`);
}

/**
 * Checks that the earlier values of the changed keys are known: the first events of a long session may be
 * gone.
 *
 * @throws MeshError `failed_precondition`
 */
function assertKnown(
  session: Session,
  before: ReadonlyMap<string, unknown>,
  changed: readonly string[],
): void {
  const unknown = unreadBefore(session) > 0 ? changed.find((key) => !before.has(key)) : undefined;
  if (unknown === undefined) return;
  throw new MeshError(
    'failed_precondition',
    `the earlier value of ${unknown} is unknown, because the first events of session ${session.id} are gone; rewind to a later invocation`,
  );
}

/** Returns the session's own state after some events. */
function stateAfter(initial: Record<string, unknown>, events: readonly Event[]): Map<string, unknown> {
  const state = new Map(Object.entries(initial));
  for (const { actions } of events)
    for (const [key, value] of Object.entries(pickScopes(actions.stateDelta, ['session'])))
      state.set(key, value);
  return state;
}

/** Makes the events that end the pending calls of a copied log. They can be answered in the original only. */
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
  return [
    createEvent({
      invocationId: newInvocationId(),
      author: 'user',
      content: { role: 'user', parts: open.map((call) => ({ functionResponse: expired(call) })) },
      customMetadata: { answeredBy: copied },
    }),
  ];
}

function expired({ id, name }: FunctionCall) {
  const kind = name === questionNames.confirmation ? 'confirmation' : 'result';
  const response = {
    ...deadlinePassed({ kind }),
    error: copiedReason,
  };
  return { ...(id !== undefined && { id }), ...(name !== undefined && { name }), response };
}
