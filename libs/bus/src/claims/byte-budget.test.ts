import { describe, expect, it } from 'vitest';
import { createByteBudget } from './byte-budget.ts';

describe('a budget of bytes', () => {
  /** Makes a budget and a function that takes bytes from it and records each grant. */
  function asking(limit: number, longestWaitMs?: number) {
    const budget = createByteBudget(limit, longestWaitMs);
    const got: number[] = [];
    return {
      got,
      async take(bytes: number, signal?: AbortSignal) {
        const give = await budget.take(bytes, signal);
        got.push(bytes);
        return give;
      },
    };
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('makes callers over the limit wait, in order', async () => {
    const { got, take } = asking(10);
    const [one, two] = [await take(6), await take(4)];
    const waiting = [take(7), take(3), take(1)];
    two();
    two();
    await turn();
    // Small requests do not overtake a large one that waits.
    expect(got).toEqual([6, 4]);
    one();
    const gives = await Promise.all([waiting[0], waiting[1]]);
    expect(got).toEqual([6, 4, 7, 3]);
    for (const give of gives) give?.();
    (await waiting[2])?.();
  });

  it('grants a request over the whole limit when nothing else is held', async () => {
    const { got, take } = asking(10);
    const give = await take(50);
    const after = take(1);
    await turn();
    expect(got).toEqual([50]);
    give();
    (await after)();
  });

  it('ends the wait of an aborted caller, and serves the next one', async () => {
    const { take } = asking(10);
    const give = await take(9);
    const controller = new AbortController();
    const large = take(10, controller.signal);
    const small = take(1);
    controller.abort();
    await expect(large).rejects.toMatchObject({ code: 'cancelled' });
    (await small)();
    give();
    (await take(10))();
  });

  it('ends a wait that takes too long', async () => {
    const { take } = asking(10, 1);
    const give = await take(10);
    await expect(take(1)).rejects.toMatchObject({ code: 'resource_exhausted' });
    give();
    (await take(10))();
  });
});
