import { deadlineOf, type Headers } from '@agentmesh/protocol';

/** Milliseconds until the deadline in the headers, `undefined` without one (or with one that cannot be read). */
export function remainingMs(headers: Headers): number | undefined {
  const deadline = deadlineOf(headers);
  return deadline === undefined ? undefined : deadline - Date.now();
}

/** The longest delay that a timer takes; a longer one would fire at once. */
export const maxTimerMs = 2 ** 31 - 1;
