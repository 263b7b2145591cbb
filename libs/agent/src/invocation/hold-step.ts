import { type Event, jsonEntries, toJson } from '@agentmesh/protocol';
import type { InvocationContext } from '../base/invocation-context.ts';
import { changedSince } from '../base/note-step.ts';
import { getFunctionCalls } from '../events/event.ts';
import { logIndex, noteUnread } from '../events/log-index.ts';
import { isQuestionName } from '../events/question.ts';
import { pickScopes } from '../events/state.ts';
import { directWrites } from '../journal/direct-writes.ts';
import type { HeldStep } from '../journal/held-step.ts';
import { insertEvents } from '../journal/insert-events.ts';
import { isProgress, isStep } from '../journal/step-mark.ts';
import { assign, bringUpToDate, readEvent } from '../sessions/in-memory/event-log.ts';
import { overrideSessions } from '../sessions/override-sessions.ts';
import { type Session, unreadBefore } from '../sessions/session.ts';
import type { SessionService } from '../sessions/session-service.ts';

type UncommittedEvent = HeldStep['uncommitted'][number];

/**
 * Makes a held step: a step whose events the asking process commits, because user code runs there between the
 * agent and the log. Each request continues the work by one step. The agent does nothing more until the
 * asking process has committed, changed or dropped the events of that step, as in a single process.
 *
 * @param heard events of this run that the asking process has received, unchanged
 */
export function heldStep(
  context: InvocationContext,
  request: number,
  heard: readonly UncommittedEvent[],
): HeldStep {
  const { session, held, attempt } = context;
  const index = logIndex(session.events);
  const missing = inOrder(session, held, heard)
    .filter(({ event }) => !index.has(event.id))
    .map((each) => ({ ...each, isKeptBack: true }));
  const uncommitted = [...(held?.uncommitted ?? []), ...missing];
  const originals = heard
    .map(({ event }) => event)
    .filter((event) => changedSince(event, index.get(event.id)));
  const keys = new Set(uncommitted.flatMap(({ event }) => Object.keys(event.actions.stateDelta)));
  return {
    part: [...(held?.part ?? [attempt]), request],
    uncommitted,
    originals: [...(held?.originals ?? []), ...originals],
    state: {
      ...directWrites(session),
      ...Object.fromEntries([...keys].map((key) => [key, session.state[key]])),
    },
  };
}

/**
 * Assigns log positions to the received events so that they keep the order in which they were received. User
 * code may have committed them in another order.
 */
function inOrder(
  session: Session,
  held: HeldStep | undefined,
  heard: readonly UncommittedEvent[],
): UncommittedEvent[] {
  const index = logIndex(session.events);
  const positions = held?.uncommitted.map(({ event }) => index.positionOf(event.id) ?? -1) ?? [];
  let after = 0;
  return heard.map(({ event, afterSeq }) => {
    const position = index.positionOf(event.id);
    const uncommitted = positions.filter((each) => each < (position ?? 0)).length;
    const ownSeq = position === undefined ? 0 : unreadBefore(session) + position + 1 - uncommitted;
    after = Math.max(after, afterSeq, ownSeq);
    return { event, afterSeq: after };
  });
}

/**
 * Records an event of a held step before user code sees the event. The state that the event writes is
 * readable from now on, as in a single process.
 */
export function hear({ session, held }: InvocationContext, event: Event): UncommittedEvent {
  assign(session.state, jsonEntries(event.actions.stateDelta, 'the state delta'));
  return { event: structuredClone(event), afterSeq: loggedSeq(session, held) };
}

/** Returns the number of the last event of a session that is in the log. */
export function loggedSeq({ seq }: Session, held: HeldStep | undefined): number {
  return seq - (held?.uncommitted.length ?? 0);
}

/**
 * Tells whether the request may end with this event. A request must not end within a step, because the
 * results of the step's other calls would be lost.
 */
export function endsPart(event: Event): boolean {
  const isQuestion = getFunctionCalls(event).some(({ name }) => isQuestionName(name));
  return !event.partial && isStep(event) && !isProgress(event) && !isQuestion;
}

/**
 * Copies a session for a held step. The copy holds the events as the asking process received them, also
 * events that are not in the log.
 */
export function heldCopy(session: Session, held: HeldStep): Session {
  const before = unreadBefore(session);
  const index = logIndex(session.events);
  held.uncommitted = held.uncommitted.filter(({ event }) => !index.has(event.id));
  const rest = held.uncommitted.map(({ event, afterSeq }) => ({
    event: storedForm(event),
    at: afterSeq - before,
  }));
  const originals = new Map(held.originals.map((event) => [event.id, event]));
  held.edited = new Map(session.events.flatMap((each) => (originals.has(each.id) ? [[each.id, each]] : [])));
  const events = insertEvents(session.events, rest, (event) => {
    const original = originals.get(event.id);
    return original ? storedForm(original) : event;
  });
  noteUnread(events, before);
  return { ...session, events, seq: before + events.length, state: { ...session.state, ...held.state } };
}

function storedForm(event: Event): Event {
  return readEvent(event).stored;
}

/**
 * Wraps the sessions for a held step. Appended events go to the step's copy of the session and to
 * `held.uncommitted`; the asking process commits them.
 */
export function heldSessions(sessions: SessionService, held: HeldStep): SessionService {
  return overrideSessions(sessions, {
    async appendEvent({ session, event }) {
      if (event.partial) return event;
      const logged = logIndex(session.events).get(event.id);
      if (logged) return logged;
      const { stored, delta } = readEvent(event);
      const afterSeq = loggedSeq(session, held);
      bringUpToDate(session, [stored], delta);
      assign(held.state, delta);
      const whole: Event = JSON.parse(toJson(event, 'the event'));
      held.uncommitted.push({ event: whole, afterSeq });
      return whole;
    },
    invocations: {
      async get(ref) {
        const record = await sessions.invocations.get(ref);
        return { ...record, temp: { ...record.temp, ...pickScopes(held.state, ['temp']) } };
      },
    },
  });
}
