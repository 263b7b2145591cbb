import type { Event } from '@agentmesh/protocol';

/** An event that is not in a log, and the number of the events of the log before it. */
export interface Inserted {
  event: Event;
  at: number;
}

/**
 * Returns a log with more events, in order of their places.
 *
 * @param show replaces an event of the log, or leaves it out
 */
export function insertEvents(
  log: readonly Event[],
  more: readonly Inserted[],
  show: (event: Event) => Event | undefined,
): Event[] {
  const events: Event[] = [];
  let next = 0;
  for (const [at, event] of log.entries()) {
    for (let each = more[next]; each && each.at <= at; each = more[next]) {
      events.push(each.event);
      next += 1;
    }
    const shown = show(event);
    if (shown) events.push(shown);
  }
  for (const { event } of more.slice(next)) events.push(event);
  return events;
}
