/** The greatest difference from the mesh's time at which the clock of a process is believed, in ms. */
const toleranceMs = 1_000;

/**
 * The mesh's time less the monotonic time of this process, in ms; undefined in a process without a store. There is one
 * for a process, as there is one clock.
 */
export const meshClock: { offset: number | undefined } = { offset: undefined };

/**
 * Returns the time by which the processes of a mesh agree, in epoch ms: that of this process, unless it differs by more
 * than a second from the store's. Every instant that another process made, or will read, is compared by this time.
 */
export function meshTime(): number {
  const own = Date.now();
  if (meshClock.offset === undefined) return own;
  const shared = Math.round(meshClock.offset + performance.now());
  return isBelieved(own - shared) ? own : shared;
}

function isBelieved(aheadMs: number): boolean {
  return Math.abs(aheadMs) < toleranceMs;
}

/**
 * Notes the mesh's time of this moment, in epoch ms.
 *
 * @returns how far the clock of this process is ahead, in ms; 0 when it is believed
 */
export function noteMeshTime(now: number): number {
  meshClock.offset = now - performance.now();
  const aheadMs = Date.now() - now;
  return isBelieved(aheadMs) ? 0 : aheadMs;
}
