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

/** Number of events that are appended at a time. */
const pageSize = 200;

export interface ForkOptions {
  /** Id of the new session; default: a new id. */
  sessionId?: string;
  /** The copy ends before this invocation; default: it holds all events. */
  beforeInvocationId?: string;
}

/** Copies a session as `forkSession` does. Returns the id of the copy, which is not read: it may be large. */
export async function copySession(
  sessions: SessionService,
  ref: SessionRef,
  { sessionId, beforeInvocationId }: ForkOptions = {},
): Promise<string> {
  const session = await wholeSession(sessions, ref);
  const end = beforeInvocationId === undefined ? undefined : startOf(session.events, beforeInvocationId);
  const events = session.events.slice(0, end).map((event) => renumbered(event, unreadBefore(session)));
  const initial = (await sessions.log.initialState(ref)) ?? {};
  // The state of a whole copy is known even if the first events are not stored.
  const isCut = unreadBefore(session) > 0 && end === undefined;
  const state = isCut ? pickScopes(session.state, ['session']) : initial;
  const { appName, userId } = ref;
  const copy = await importHistory(sessions, {
    ...{ appName, userId, state, events },
    ...(sessionId !== undefined && { sessionId }),
  });
  return copy.sessionId;
}

/** Makes a session of imported events as `importSession` does. Returns its name; it is not read. */
export async function importHistory(
  sessions: SessionService,
  { events, ...request }: Parameters<SessionService['createSession']>[0] & { events: readonly Event[] },
): Promise<SessionRef> {
  assertHistory(events);
  const firsts = new Map<string, number>();
  for (const [at, { invocationId }] of events.entries())
    if (!firsts.has(invocationId)) firsts.set(invocationId, at);
  const past = withoutLooseConfirmations(events).map((event) => goingBack(event, firsts));
  const all = [...past, ...expiries(events)];
  // After a crash before the last part nobody may know the id, so the session must end by itself.
  const { id, appName, userId } = await sessions.createSession({ ...request, isUnfinished: all.length > 0 });
  const ref = { appName, userId, sessionId: id };
  try {
    for (let afterSeq = 0; afterSeq < all.length; afterSeq += pageSize) {
      const end = afterSeq + pageSize;
      const part = { afterSeq, events: all.slice(afterSeq, end), hasMore: end < all.length };
      await sessions.log.appendHistory(ref, part);
    }
    return ref;
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

/** Reads a session with all its events. @throws MeshError `not_found` */
export async function wholeSession(sessions: SessionService, ref: SessionRef): Promise<Session> {
  const { appName, userId, sessionId } = ref;
  const session = await sessions.getSession({ appName, userId, sessionId });
  if (!session) throw noSession(ref);
  noteUnread(session.events, unreadBefore(session));
  return session;
}

/**
 * Returns the position of an invocation's first event.
 *
 * @throws MeshError `not_found`; `failed_precondition` for an invocation that has been rewound
 */
export function startOf(events: readonly Event[], invocationId: string): number {
  const index = logIndex(events);
  const [first] = index.ofInvocation(invocationId);
  const start = first && index.positionOf(first.id);
  if (start !== undefined) return start;
  if (events.some((event) => event.invocationId === invocationId))
    throw new MeshError('failed_precondition', `invocation ${invocationId} has been rewound already`);
  throw new MeshError('not_found', `there is no invocation ${invocationId} in the session`);
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
