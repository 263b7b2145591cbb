import type { Event } from '@agentmesh/protocol';
import type { Session } from '../session-service.ts';
import type { MemoryMark } from './memory-service.ts';
import { rememberedEvent } from './remembered.ts';

/** What is to be done with a session that is added: remember these events, after forgetting all of the session that is not among them. */
export interface SessionChange {
  /** In their order, with their numbers. */
  events: { seq: number; event: Event }[];
  /** Are they just those that come after the mark? Others may be in memory already. */
  follows: boolean;
  replaces: boolean;
  /** Where the session then is; undefined when that does not follow: events before it may be missing. */
  mark: MemoryMark | undefined;
}

/** What of a session is not in memory yet. Looks at the past only when that is not known to be there. */
export function changeOf(session: Session, mark: MemoryMark | undefined): SessionChange {
  const { events, seq } = session;
  // Events are numbered without a gap, and what was left out of the object is the beginning.
  const before = Math.max(seq - events.length, 0);
  const last = events.at(-1);
  const whole = before === 0;
  const follows = mark !== undefined && events[mark.seq - before - 1]?.id === mark.eventId;
  const start = follows ? mark.seq - before : 0;
  return {
    events: events.slice(start).map((event, at) => ({ seq: before + start + at + 1, event })),
    follows,
    replaces: whole && !follows,
    mark: last && (whole || follows) ? { seq: before + events.length, eventId: last.id } : undefined,
  };
}

/** Was the session read before it grew to where memory has it? Then it would remove what is newer. `knows`: is an event in memory? */
export function isOlder(
  { events, mark: newMark }: SessionChange,
  mark: MemoryMark | undefined,
  knows: (eventId: string) => boolean,
): boolean {
  if (!mark || !newMark || newMark.seq >= mark.seq) return false;
  const last = events.findLast(({ event }) => rememberedEvent(event, {}));
  return last !== undefined && knows(last.event.id);
}
