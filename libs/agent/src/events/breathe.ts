/** Maximum time for which code may occupy the event loop, in ms. */
const longestMs = 10;
let lastPause = 0;
let pausing: Promise<void> | undefined;

/**
 * Lets timers, sockets and signals run, if they have not run for {@link longestMs}. Loops over user code call
 * this function: code that never waits for I/O would otherwise run in microtasks alone, and neither a
 * deadline nor an abort could end it. All callers wait for the same pause and continue together, so that what
 * they send goes out in few writes.
 */
export function breathe(): Promise<void> {
  if (performance.now() - lastPause <= longestMs) return noPause;
  pausing ??= pause();
  return pausing;
}

const noPause = Promise.resolve();

async function pause(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  lastPause = performance.now();
  pausing = undefined;
}

/** Forgets the pauses so far, so that a simulation of several processes begins each time in the same state. */
export function forgetPauses(): void {
  lastPause = 0;
  pausing = undefined;
}

/** Time that an aborted run gets to show that nothing is left to do in it, in ms. */
export const endingMs = 250;

const abortedAt = new WeakMap<AbortSignal, number>();

/**
 * Ends a loop of a run that was aborted longer than {@link endingMs} ago. A loop may pass through rounds that
 * are in the log before it finds that it has ended, so the abort alone does not end it.
 *
 * @throws the reason of the signal
 */
export function assertWanted(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  const now = performance.now();
  const since = abortedAt.get(signal) ?? now;
  abortedAt.set(signal, since);
  if (now - since > endingMs) signal.throwIfAborted();
}
