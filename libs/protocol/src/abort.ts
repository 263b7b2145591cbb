/** Waits for work until the signal is aborted, then rejects with its reason: work that ignores the signal must not hold its caller. */
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
    // Whichever is late is nobody's any more.
    work.catch(() => {});
    aborted.catch(() => {});
  }
}
