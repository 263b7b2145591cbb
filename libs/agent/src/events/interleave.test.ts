import { describe, expect, it } from 'vitest';
import { interleave, withEmitted } from './interleave.ts';

describe('generators that run at the same time', () => {
  it('continue only after their value is taken, take turns, and return their results in order', async () => {
    const advanced: string[] = [];
    async function* count(name: string) {
      for (const n of [1, 2]) {
        yield `${name}${n}`;
        advanced.push(`${name}${n}`);
      }
      return name;
    }
    const both = interleave(() => [count('a'), count('b')]);
    expect((await both.next()).value).toBe('a1');
    expect(advanced).toEqual([]);
    const rest = [await both.next(), await both.next(), await both.next(), await both.next()];
    expect(rest.map(({ value }) => value)).toEqual(['b1', 'a2', 'b2', ['a', 'b']]);
  });

  it.each(['throws', 'is left'])('stop when one of them %s', async (how) => {
    let stopped = 0;
    const running = interleave((signal) => [
      (async function* () {
        try {
          const aborted = Promise.withResolvers<void>();
          signal.addEventListener('abort', () => aborted.resolve());
          await aborted.promise;
          yield 1;
        } finally {
          stopped += 1;
        }
      })(),
      (async function* () {
        yield 2;
        throw new Error('broken');
      })(),
    ]);
    expect((await running.next()).value).toBe(2);
    if (how === 'throws') await expect(running.next()).rejects.toThrow('broken');
    else await running.return([]);
    expect(stopped).toBe(1);
  });
});

describe('a generator that emits', () => {
  it('yields emitted values while it works, before its own values', async () => {
    const seen = await Array.fromAsync(
      withEmitted<number, void>(async function* (emit) {
        emit(1);
        await Promise.resolve();
        emit(2);
        yield 3;
        emit(4);
      }),
    );
    expect(seen).toEqual([1, 2, 3, 4]);
  });
});
