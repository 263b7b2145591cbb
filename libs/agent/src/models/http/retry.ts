import { setTimeout as pause } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';
import type { HttpRetryOptions } from '@google/genai';
import { isRecord } from './error-body.ts';
import { readFailure } from './model-failure.ts';
import { isNoConnection } from './no-connection.ts';

/** How requests to a model are repeated. */
export interface RetryOptions extends HttpRetryOptions {
  /**
   * The longest wait that a server may ask for (`RetryInfo`, `Retry-After`), in seconds; default 60. A request
   * whose server asks for a longer wait is not repeated.
   */
  maxRetryAfter?: number;
}

/**
 * The default retries. They are enough for a short failure, and few enough that a fallback model is tried
 * soon.
 */
const defaults: Required<RetryOptions> = {
  attempts: 3,
  initialDelay: 0.5,
  maxDelay: 8,
  expBase: 2,
  jitter: 1,
  maxRetryAfter: 60,
  httpStatusCodes: [408, 429, 500, 502, 503, 504],
};

/**
 * Returns options with the defaults of those that are absent.
 *
 * @throws MeshError `invalid_argument` for an option with another value than a number from 0 on, or a list of statuses
 */
export function retrySettings(options?: RetryOptions | null): Required<RetryOptions> {
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    const isFit = name === 'httpStatusCodes' ? Array.isArray(value) : typeof value === 'number' && value >= 0;
    if (Object.hasOwn(defaults, name) && !isFit)
      throw new MeshError('invalid_argument', `retryOptions.${name} is ${value}; it must be at least 0`);
  }
  return { ...defaults, ...Object.fromEntries(given) };
}

/**
 * Calls a server, and repeats the call after a failure that may pass: a listed status, or no connection. The
 * nth delay is `initialDelay * expBase^(n-1)` seconds plus a random part of up to `jitter` times that, at
 * most `maxDelay`; or the wait that the server asks for, when that is longer. A quota that is used up for the
 * day is final. The client's own retries are not used: they keep waiting when the signal is aborted, and
 * treat a broken connection as final.
 *
 * @throws the last error; the signal's reason at once when it is aborted
 */
export async function withRetries<T>(
  ask: () => Promise<T>,
  options: RetryOptions = {},
  signal?: AbortSignal,
): Promise<T> {
  const { attempts, httpStatusCodes, maxRetryAfter } = retrySettings(options);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      signal?.throwIfAborted();
      const { status, body } = readFailure(error);
      const retryAfter = retryAfterOf(body);
      const mayPass =
        status === undefined
          ? isNoConnection(error)
          : httpStatusCodes.includes(status) && !isUsedUp(body) && retryAfter <= maxRetryAfter;
      if (attempt >= attempts || !mayPass) throw error;
      const ms = Math.max(waitMs(attempt, options), retryAfter * 1_000);
      await pause(ms, undefined, { ...(signal && { signal }) }).catch(() => {});
      signal?.throwIfAborted();
    }
  }
}

/** Returns the delay after the nth attempt, in ms. */
export function waitMs(attempt: number, options: HttpRetryOptions): number {
  const { initialDelay, expBase, jitter, maxDelay } = retrySettings(options);
  const delay = initialDelay * expBase ** (attempt - 1) * (1 + jitter * Math.random());
  return Math.min(delay, maxDelay) * 1_000;
}

type Details = readonly Record<string, unknown>[];

function detailsOf({ details }: { details?: unknown }): Details {
  return Array.isArray(details) ? details.filter(isRecord) : [];
}

/** Returns how long the server asks to wait, in s; 0 when it does not say. */
function retryAfterOf(body: { details?: unknown }): number {
  const waits = detailsOf(body).map(({ retryDelay }) => Number(String(retryDelay ?? 0).replace(/s$/, '')));
  return Math.max(0, ...waits.filter(Number.isFinite));
}

/** Codes and types of errors of OpenAI and servers like it: more waiting does not help. */
const finalCodes = [
  'insufficient_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
  'access_terminated',
];

/**
 * Tells whether a quota is used up for longer than a request can wait: the quota of a day (Google names it in
 * `QuotaFailure`, others in words), or the money.
 *
 * https://cloud.google.com/apis/design/errors, https://platform.openai.com/docs/guides/error-codes
 */
function isUsedUp(body: { details?: unknown; code?: unknown; type?: unknown; message?: unknown }): boolean {
  const violations = detailsOf(body).flatMap(({ violations: each }) => (Array.isArray(each) ? each : []));
  const ids = violations.filter(isRecord).flatMap(({ quotaId, subject }) => [quotaId, subject]);
  if (ids.some((id) => /per_?day/i.test(String(id)))) return true;
  if ([body.code, body.type].some((code) => finalCodes.includes(String(code)))) return true;
  return /\bper[ -]day\b|\bdaily (?:limit|quota)\b|\((?:RPD|TPD)\)/i.test(String(body.message ?? ''));
}
