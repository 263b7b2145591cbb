import type { Event } from '@agentmesh/protocol';
import { logIndex, noteUnread } from '../events/log-index.ts';
import type { Session } from '../sessions/session.ts';
import type { MemoryMark } from './memory-service.ts';
import { rememberedEvent } from './remembered.ts';

/**
 * The changes of memory for a session: first its memories of other events are deleted, then these events are
 * added.
 */
export interface SessionChange {
  /** The events in order, with their numbers, without rewound ones. */
  events: { seq: number; event: Event }[];
  /** True when these are only the events after the mark. Otherwise some of them may be in memory already. */
  follows: boolean;
  replaces: boolean;
  /** Ids of rewound events. When the session is not replaced, their memories are deleted one by one. */
  rewound: string[];
  /** The new mark; undefined when it is unknown because earlier events may be missing. */
  mark: MemoryMark | undefined;
}

/**
 * Computes which events of a session are not in memory yet. Looks at earlier events only when they may be
 * missing in memory, or were rewound.
 */
export function changeOf(session: Session, mark: MemoryMark | undefined): SessionChange {
  const { events, seq } = session;
  // Events are numbered without a gap, and the session object may lack the first events.
  const before = Math.max(seq - events.length, 0);
  const last = events.at(-1);
  const end = last && { seq: before + events.length, eventId: last.id };
  const whole = before === 0;
  const isMarkKnown = mark !== undefined && events[mark.seq - before - 1]?.id === mark.eventId;
  if (isMarkKnown) {
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
    // The rewound part may begin before the events that were read.
    mark: whole || (isMarkKnown && !isHidden(0)) ? end : undefined,
  };
}

/** Tells whether the rewound part begins among the events that were read. */
function begins({ actions }: Event, events: readonly Event[]): boolean {
  return events.some(({ invocationId }) => invocationId === actions.rewindBeforeInvocationId);
}

/**
 * Tells whether the event rewinds other events. A session in memory must then be read completely before it is
 * added.
 */
export function isRewind({ actions }: Event): boolean {
  return actions.rewindBeforeInvocationId !== undefined;
}

/**
 * Tells whether the session was read before it grew to the state that is in memory. Adding it would remove
 * newer memories. `knows` tells whether an event is in memory.
 */
export function isOlder(
  { events, mark: newMark }: SessionChange,
  mark: MemoryMark | undefined,
  knows: (eventId: string) => boolean,
): boolean {
  if (!mark || !newMark || newMark.seq >= mark.seq) return false;
  const last = events.findLast(({ event }) => rememberedEvent(event, {}));
  return last !== undefined && knows(last.event.id);
}
