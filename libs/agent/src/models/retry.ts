import { setTimeout as pause } from 'node:timers/promises';
import type { HttpRetryOptions } from '@google/genai';
import { isApiError } from '../schema/genai.ts';
import { isNoConnection } from './no-connection.ts';

/**
 * The default retries. They are enough for a short failure, and few enough that a fallback model is tried
 * soon.
 */
const defaults: Required<HttpRetryOptions> = {
  attempts: 3,
  initialDelay: 0.5,
  maxDelay: 8,
  expBase: 2,
  jitter: 1,
  httpStatusCodes: [408, 429, 500, 502, 503, 504],
};

/**
 * Calls a server, and repeats the call after a failure that may pass: a listed status, or no connection. The
 * nth delay is `initialDelay * expBase^(n-1)` seconds plus a random part of up to `jitter` times that, at
 * most `maxDelay`. The client's own retries are not used: they keep waiting when the signal is aborted, and
 * treat a broken connection as final.
 *
 * @throws the last error; the signal's reason at once when it is aborted
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

/** Returns the delay after the nth attempt, in ms. */
export function waitMs(attempt: number, options: HttpRetryOptions): number {
  const { initialDelay, expBase, jitter, maxDelay } = { ...defaults, ...options };
  const delay = initialDelay * expBase ** (attempt - 1) * (1 + jitter * Math.random());
  return Math.min(delay, maxDelay) * 1_000;
}

function mayPass(error: unknown, statuses: readonly number[]): boolean {
  if (isApiError(error)) return statuses.includes(error.status);
  return isNoConnection(error);
}
