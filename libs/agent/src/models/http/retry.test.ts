import { ApiError } from '@google/genai';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Gemini } from '../gemini.ts';
import { GeminiEmbedder } from '../gemini-embedder.ts';
import { OpenAiLlm } from '../openai.ts';
import { waitMs, withRetries } from './retry.ts';

afterEach(() => vi.restoreAllMocks());

const failure = (status: number) => new ApiError({ message: 'away', status });
const noConnection = () => new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') });

/** Makes a server that fails with these errors in order, and then answers. */
function server(...failures: Error[]) {
  return vi.fn(async () => {
    const next = failures.shift();
    if (next) throw next;
    return 'answer';
  });
}

describe('a request that is retried', () => {
  const now = { initialDelay: 0 };

  it.each([
    ['what may pass', [failure(503), noConnection()], undefined, 3],
    ['another status that is named', [failure(418)], { httpStatusCodes: [418] }, 2],
  ])('bridges %s', async (_what, failures, options, calls) => {
    const ask = server(...failures);
    expect(await withRetries(ask, { ...now, ...options })).toBe('answer');
    expect(ask).toHaveBeenCalledTimes(calls);
  });

  it.each<[string, Error[], object, number]>([
    ['is refused', [failure(400)], {}, 1],
    ['fails in a way of its own', [new TypeError('a bug')], {}, 1],
    ['fails too often', [failure(503), failure(503), failure(429)], {}, 3],
    ['fails too often for its options', [failure(503), failure(503)], { attempts: 2 }, 2],
    ['may not be retried', [failure(503)], { attempts: 1 }, 1],
    ['fails with a status that is not named', [failure(503)], { httpStatusCodes: [429] }, 1],
  ])('fails with the last error when it %s', async (_what, failures, options, calls) => {
    const last = failures.at(-1);
    const ask = server(...failures);
    await expect(withRetries(ask, { ...now, ...options })).rejects.toBe(last);
    expect(ask).toHaveBeenCalledTimes(calls);
  });

  it('stops waiting at once when it is aborted', async () => {
    const aborted = new AbortController();
    const ask = server(failure(503));
    const asking = withRetries(ask, { initialDelay: 3_600, maxDelay: 3_600 }, aborted.signal);
    await vi.waitFor(() => expect(ask).toHaveBeenCalled());
    const reason = new Error('enough');
    aborted.abort(reason);
    await expect(asking).rejects.toBe(reason);
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it('does not retry when the signal is aborted already', async () => {
    const ask = server(failure(503));
    await expect(withRetries(ask, now, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(ask).toHaveBeenCalledTimes(1);
  });
});

/** An error with the details of a server, as the client of Gemini throws it. */
function refusal(details: object[], fields: object = {}): Error {
  const error = { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED', ...fields, details };
  return new ApiError({ message: JSON.stringify({ error }), status: 429 });
}
const retryInfo = (retryDelay: string) => ({
  '@type': 'type.googleapis.com/google.rpc.RetryInfo',
  retryDelay,
});
const quota = (quotaId: string) => ({
  '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
  violations: [{ quotaId }],
});

describe('a server that says when to come again', () => {
  const now = { initialDelay: 0 };

  it('is asked again after that time', async () => {
    const ask = server(refusal([retryInfo('0.05s')]));
    const start = performance.now();
    expect(await withRetries(ask, now)).toBe('answer');
    // Timers may be a millisecond early.
    expect(performance.now() - start).toBeGreaterThan(48);
  });

  it.each<[string, Error, object]>([
    ['later than the bound', refusal([retryInfo('61s')]), {}],
    ['later than the bound of the options', refusal([retryInfo('0.2s')]), { maxRetryAfter: 0.1 }],
    [
      'tomorrow',
      refusal([quota('GenerateRequestsPerDayPerProjectPerModel-FreeTier'), retryInfo('0.01s')]),
      {},
    ],
    ['when there is money', refusal([], { code: 'insufficient_quota' }), {}],
    ['when there is money, by its type', refusal([], { type: 'insufficient_quota' }), {}],
    ['tomorrow, in words', refusal([], { message: 'Rate limit exceeded: 50 requests per day' }), {}],
  ])('is not asked again: %s', async (_when, failure, options) => {
    const ask = server(failure);
    await expect(withRetries(ask, { ...now, ...options })).rejects.toBe(failure);
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it('is asked again when the quota of a minute is used up', async () => {
    const ask = server(refusal([quota('GenerateRequestsPerMinutePerProjectPerModel'), retryInfo('0.01s')]));
    expect(await withRetries(ask, now)).toBe('answer');
  });
});

describe('the waits between attempts', () => {
  it.each([
    [{}, [0.75, 1.5, 3, 6, 8]],
    [{ jitter: 0 }, [0.5, 1, 2, 4, 8]],
    [{ initialDelay: 2, expBase: 3, maxDelay: 20, jitter: 0 }, [2, 6, 18, 20, 20]],
  ])('grow, with a random part, up to a limit: %o', (options, seconds) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    expect(seconds.map((_, at) => waitMs(at + 1, options) / 1_000)).toEqual(seconds);
  });
});

describe('the options of retries', () => {
  it('have defaults where they are absent', async () => {
    const ask = server(...Array.from({ length: 9 }, () => failure(503)));
    const options = { initialDelay: 0, attempts: undefined, httpStatusCodes: undefined } as never;
    await expect(withRetries(ask, options)).rejects.toThrow('away');
    expect(ask).toHaveBeenCalledTimes(3);
  });

  it.each([
    { attempts: Number.NaN },
    { attempts: -1 },
    { attempts: null },
    { initialDelay: '1' },
    { maxRetryAfter: Number.NaN },
    { httpStatusCodes: 503 },
  ])('are numbers, or the model is not made: %j', (given) => {
    const retryOptions = given as object;
    const models = [
      () => new Gemini({ retryOptions }),
      () => new Gemini({ client: { httpOptions: { retryOptions } } }),
      () => new OpenAiLlm({ model: 'm', retryOptions }),
      () => new GeminiEmbedder({ retryOptions }),
    ];
    for (const make of models) expect(make).toThrow(`retryOptions.${Object.keys(given)[0]} is `);
    expect(() => new OpenAiLlm({ model: 'm', client: { maxRetries: Number.NaN } })).toThrow(
      'attempts is NaN',
    );
  });
});
