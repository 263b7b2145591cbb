import { deadlineOf, type Headers, MeshError, meshTime } from '@agentmesh/protocol';

/**
 * Longest time of work whose caller set no deadline, in ms: work for a caller that has left must not hold a
 * slot for ever.
 */
const longestMs = 3_600_000;

/**
 * Returns a signal that aborts at the deadline of the headers or with one of `signals`, whichever is first.
 * Dispose it when the work is over: a running timer would keep all of the work in memory.
 */
export function signalOf(headers: Headers, ...signals: AbortSignal[]): { signal: AbortSignal } & Disposable {
  const wait = Math.max((deadlineOf(headers) ?? meshTime() + longestMs) - meshTime(), 0);
  return deadlineSignal(wait, ...signals);
}

/** Does the same as {@link signalOf}, with a deadline that lies `ms` milliseconds ahead. */
export function deadlineSignal(ms: number, ...signals: AbortSignal[]): { signal: AbortSignal } & Disposable {
  const over = new AbortController();
  const late = () => over.abort(new MeshError('deadline_exceeded', 'the time given for the answer is over'));
  if (ms <= 0) late();
  // Timers hold 31 bits; no process lives longer than that.
  const timer = setTimeout(late, Math.min(ms, 2 ** 31 - 1));
  const followed = follow(over, signals);
  return {
    signal: over.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      followed[Symbol.dispose]();
    },
  };
}

/**
 * Returns a signal for user code that aborts with `signal` until it is disposed. Dispose it when the work is over: a
 * listener that user code leaves behind must neither hear of a later abort nor stay in memory.
 */
export function signalUntilDone(signal: AbortSignal): { signal: AbortSignal } & Disposable {
  const over = new AbortController();
  return { signal: over.signal, ...follow(over, [signal]) };
}

function follow(over: AbortController, signals: readonly AbortSignal[]): Disposable {
  const forgets = signals.map((signal) => {
    const onAbort = () => over.abort(signal.reason);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    return () => signal.removeEventListener('abort', onAbort);
  });
  return {
    [Symbol.dispose]() {
      for (const forget of forgets) forget();
    },
  };
}
