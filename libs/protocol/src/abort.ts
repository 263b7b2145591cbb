/**
 * Waits for work. Rejects with the signal's reason once the signal is aborted, so that work that ignores the
 * signal cannot hold its caller.
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Nobody reads the promise that settles later.
    work.catch(() => {});
    aborted.catch(() => {});
  }
}
