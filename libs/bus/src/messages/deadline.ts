import { deadlineOf, type Headers, meshTime } from '@agentmesh/protocol';

/**
 * Returns the milliseconds until the deadline in the headers; undefined when there is no deadline or it
 * cannot be read.
 */
export function remainingMs(headers: Headers): number | undefined {
  const deadline = deadlineOf(headers);
  return deadline === undefined ? undefined : deadline - meshTime();
}

/** The longest delay that a timer takes; a timer with a longer delay would fire at once. */
export const maxTimerMs = 2 ** 31 - 1;
