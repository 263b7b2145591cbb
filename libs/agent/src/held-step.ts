import { type Event, toJson } from '@agentmesh/protocol';
import { getFunctionCalls } from './event.ts';
import { isQuestionName } from './flow/question.ts';
import { isProgress, isStep } from './flow/step-mark.ts';
import { changedSince } from './flow/step-memory.ts';
import { bringUpToDate, parseEvent, readEvent } from './in-memory-log.ts';
import type { HeldStep, InvocationContext } from './invocation-context.ts';
import { logIndex, noteUnread } from './log-index.ts';
import { type Session, type SessionService, unreadBefore } from './session-service.ts';
import { pickScopes } from './state.ts';

/**
 * A step of a workflow whose events the asking process commits, because code of the user's stands there between the agent and the log. It goes on step
 * by step, each by a request of its own: the agent does nothing more before the asker has kept, changed or dropped what it said, as in one
 * process.
 *
 * @param heard events of this run that the asker has heard, as they came
 */
export function heldStep(context: InvocationContext, request: number, heard: readonly Event[]): HeldStep {
  const { session, held, attempt } = context;
  const index = logIndex(session.events);
  return {
    part: [...(held?.part ?? [attempt]), request],
    uncommitted: [...(held?.uncommitted ?? []), ...heard.filter(({ id }) => !index.has(id))],
    originals: [
      ...(held?.originals ?? []),
      ...heard.filter((event) => changedSince(event, index.get(event.id))),
    ],
  };
}

/** Is it the first request for the step? What was begun before it was cut off by a crash. */
export function isFirstPart({ part }: HeldStep): boolean {
  return part.slice(1).every((request) => request === 0);
}

/** May the asker be waited for after this event? Not within a step: what comes of its other calls would be lost. */
export function endsPart(event: Event): boolean {
  const isQuestion = getFunctionCalls(event).some(({ name }) => isQuestionName(name));
  return !event.partial && isStep(event) && !isProgress(event) && !isQuestion;
}

/** A copy of a session for a held step: with what the asker has heard and the log does not hold. */
export function heldCopy(session: Session, held: HeldStep): Session {
  const events = [...session.events];
  noteUnread(events, unreadBefore(session));
  const copy: Session = { ...session, events, state: { ...session.state } };
  held.uncommitted = held.uncommitted.filter(({ id }) => !logIndex(session.events).has(id));
  for (const event of held.uncommitted) append(copy, event);
  return copy;
}

/** Sessions for a held step: what it appends goes to its copy and to `held.uncommitted`, and is the asker's to commit. */
export function heldSessions(sessions: SessionService, held: HeldStep): SessionService {
  return {
    ...sessions,
    async appendEvent({ session, event }) {
      if (event.partial) return event;
      const known = logIndex(session.events).get(event.id);
      if (known) return known;
      append(session, event);
      const whole: Event = JSON.parse(toJson(event, 'the event'));
      held.uncommitted.push(whole);
      return whole;
    },
    async getInvocation(ref) {
      const record = await sessions.getInvocation(ref);
      const temp = held.uncommitted.map(({ actions }) => pickScopes(actions.stateDelta, ['temp']));
      return { ...record, temp: Object.assign({}, record.temp, ...temp) };
    },
  };
}

function append(session: Session, event: Event): void {
  const { json, delta } = readEvent(event);
  bringUpToDate(session, [parseEvent(json)], delta);
}
