import { type Headers, header } from '@agentmesh/protocol';

/** Milliseconds until the deadline in the headers, `undefined` without one (or with one that cannot be read). */
export function remainingMs(headers: Headers): number | undefined {
  const deadline = Number(headers[header.deadline] || Number.NaN);
  return Number.isFinite(deadline) ? deadline - Date.now() : undefined;
}

/** The longest delay that a timer takes; a longer one would fire at once. */
export const maxTimerMs = 2 ** 31 - 1;
