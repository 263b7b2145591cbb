/** Maximum time for which code may occupy the event loop, in ms. */
const longestMs = 10;
let lastPause = 0;

/**
 * Lets timers, sockets and signals run, if they have not run for {@link longestMs}. Loops over user code call
 * this function: code that never waits for I/O would otherwise run in microtasks alone, and neither a
 * deadline nor an abort could end it.
 */
export async function breathe(signal?: AbortSignal): Promise<void> {
  if (performance.now() - lastPause > longestMs) {
    await new Promise((resolve) => setImmediate(resolve));
    lastPause = performance.now();
  }
  signal?.throwIfAborted();
}
