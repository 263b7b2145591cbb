import { setTimeout as pause } from 'node:timers/promises';
import { ApiError, type HttpRetryOptions } from '@google/genai';

/** What is tried again, and how often, where nothing else is said: a hiccup is bridged, and a fallback model need not wait long. */
const defaults: Required<HttpRetryOptions> = {
  attempts: 3,
  initialDelay: 0.5,
  maxDelay: 8,
  expBase: 2,
  jitter: 1,
  httpStatusCodes: [408, 429, 500, 502, 503, 504],
};

/**
 * Asks a server, again after a failure that may pass: a status of the list, or no connection. The nth wait is `initialDelay * expBase^(n-1)`
 * seconds, made longer by a random part of `jitter` times that, at most `maxDelay`. The client has retries of its own, but these wait on
 * when the signal is aborted, and take a broken connection for final.
 *
 * @throws the last error; the signal's reason when it is aborted, at once
 */
export async function withRetries<T>(
  ask: () => Promise<T>,
  options: HttpRetryOptions = {},
  signal?: AbortSignal,
): Promise<T> {
  const { attempts, httpStatusCodes } = { ...defaults, ...options };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (attempt >= attempts || !mayPass(error, httpStatusCodes)) throw error;
      signal?.throwIfAborted();
      await pause(waitMs(attempt, options), undefined, { ...(signal && { signal }) }).catch(() => {});
      signal?.throwIfAborted();
    }
  }
}

/** How long to wait after the nth attempt, in ms. */
export function waitMs(attempt: number, options: HttpRetryOptions): number {
  const { initialDelay, expBase, jitter, maxDelay } = { ...defaults, ...options };
  const delay = initialDelay * expBase ** (attempt - 1) * (1 + jitter * Math.random());
  return Math.min(delay, maxDelay) * 1_000;
}

function mayPass(error: unknown, statuses: readonly number[]): boolean {
  if (error instanceof ApiError) return statuses.includes(error.status);
  // What fetch throws when there is no connection, or it breaks before an answer.
  return error instanceof TypeError && error.message === 'fetch failed';
}
