import type { Event } from '@agentmesh/protocol';
import { logIndex, noteUnread } from '../events/log-index.ts';
import type { Session } from '../sessions/session.ts';
import type { MemoryMark } from './memory-service.ts';
import { rememberedEvent } from './remembered.ts';

/** What is to be done with a session that is added: remember these events, after forgetting all of the session that is not among them. */
export interface SessionChange {
  /** In their order, with their numbers; none that was rewound. */
  events: { seq: number; event: Event }[];
  /** Are they just those that come after the mark? Others may be in memory already. */
  follows: boolean;
  replaces: boolean;
  /** Ids of events that were rewound: where the session is not replaced, they are to be forgotten by themselves. */
  rewound: string[];
  /** Where the session then is; undefined when that does not follow: events before it may be missing. */
  mark: MemoryMark | undefined;
}

/** What of a session is not in memory yet. Looks at the past only when that is not known to be there, or was rewound. */
export function changeOf(session: Session, mark: MemoryMark | undefined): SessionChange {
  const { events, seq } = session;
  // Events are numbered without a gap, and what was left out of the object is the beginning.
  const before = Math.max(seq - events.length, 0);
  const last = events.at(-1);
  const end = last && { seq: before + events.length, eventId: last.id };
  const whole = before === 0;
  const known = mark !== undefined && events[mark.seq - before - 1]?.id === mark.eventId;
  if (known) {
    const start = mark.seq - before;
    const news = events.slice(start).map((event, at) => ({ seq: before + start + at + 1, event }));
    if (!news.some(({ event }) => isRewind(event)))
      return { events: news, follows: true, replaces: false, rewound: [], mark: end };
  }
  noteUnread(events, before);
  const index = logIndex(events);
  const goesBack = whole ? -1 : events.findLastIndex((event) => isRewind(event) && !begins(event, events));
  const isHidden = (at: number) => at <= goesBack || index.isHidden(at);
  const isKept = (_: unknown, at: number) => !isHidden(at);
  return {
    events: events.map((event, at) => ({ seq: before + at + 1, event })).filter(isKept),
    follows: false,
    replaces: whole,
    rewound: whole ? [] : events.flatMap(({ id }, at) => (isHidden(at) ? [id] : [])),
    // What was rewound may begin before the events that were read.
    mark: whole || (known && !isHidden(0)) ? end : undefined,
  };
}

/** Does what an event goes back to begin among the events that were read? */
function begins({ actions }: Event, events: readonly Event[]): boolean {
  return events.some(({ invocationId }) => invocationId === actions.rewindBeforeInvocationId);
}

/** Does what was said before count no more? Then a session that is in memory must be read whole to be added. */
export function isRewind({ actions }: Event): boolean {
  return actions.rewindBeforeInvocationId !== undefined;
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
