/** How long code may keep the event loop to itself, in ms. */
const longestMs = 10;
let lastPause = 0;

/**
 * Gives timers, sockets and signals their turn, if they have had none for {@link longestMs}. Loops over code of the user's call it: code that never
 * waits for anything outside would otherwise run in microtasks alone, and neither a deadline nor an abort could end it.
 */
export async function breathe(signal?: AbortSignal): Promise<void> {
  if (performance.now() - lastPause > longestMs) {
    await new Promise((resolve) => setImmediate(resolve));
    lastPause = performance.now();
  }
  signal?.throwIfAborted();
}
