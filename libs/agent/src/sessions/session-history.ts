import { type Event, MeshError, type SessionRef } from '@agentmesh/protocol';
import { createEvent, getFunctionCalls, newInvocationId } from '../events/event.ts';
import { pickScopes } from '../events/state.ts';
import { copySession, type ForkOptions, importHistory, startOf, wholeSession } from './copy-session.ts';
import { type Session, unreadBefore } from './session.ts';
import { noSession } from './session-errors.ts';
import type { SessionService } from './session-service.ts';

export type { ForkOptions } from './copy-session.ts';

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
  options: ForkOptions = {},
): Promise<Session> {
  return await wholeSession(sessions, { ...ref, sessionId: await copySession(sessions, ref, options) });
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
  request: Parameters<typeof importHistory>[1],
): Promise<Session> {
  return await wholeSession(sessions, await importHistory(sessions, request));
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
