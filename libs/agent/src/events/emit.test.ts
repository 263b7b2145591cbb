import { describe, expect, it } from 'vitest';
import { asGenerator, atOnce, drain, type Emit, inTurn, ReaderGone } from './emit.ts';

describe('pieces of work at the same time', () => {
  it('continue only after their value is taken, take turns, and return their results in order', async () => {
    const advanced: string[] = [];
    const count = (name: string) => async (emit: Emit<string>) => {
      for (const n of [1, 2]) {
        await emit(`${name}${n}`);
        advanced.push(`${name}${n}`);
      }
      return name;
    };
    const both = asGenerator<string, string[]>((emit) =>
      atOnce<string, string>(emit, (sent) => [count('a')(sent), count('b')(sent)]),
    );
    expect((await both.next()).value).toBe('a1');
    expect(advanced).toEqual([]);
    const rest = [await both.next(), await both.next(), await both.next(), await both.next()];
    expect(rest.map(({ value }) => value)).toEqual(['b1', 'a2', 'b2', ['a', 'b']]);
  });

  it.each(['throws', 'is left'])('stop when one of them %s', async (how) => {
    let stopped = 0;
    const waiting = async (emit: Emit<number>, signal: AbortSignal) => {
      try {
        const aborted = Promise.withResolvers<void>();
        signal.addEventListener('abort', () => aborted.resolve());
        await aborted.promise;
        await emit(1);
      } finally {
        stopped += 1;
      }
    };
    const breaking = async (emit: Emit<number>) => {
      await emit(2);
      throw new Error('broken');
    };
    const running = asGenerator<number, void[]>((emit) =>
      atOnce<number, void>(emit, (sent, signal) => [waiting(sent, signal), breaking(sent)]),
    );
    expect((await running.next()).value).toBe(2);
    if (how === 'throws') await expect(running.next()).rejects.toThrow('broken');
    else await running.return([]);
    expect(stopped).toBe(1);
  });
});

describe('work as a generator', () => {
  it('begins with the first step, and yields in order what the work emits, also without waiting', async () => {
    const seen: number[] = [];
    const numbers = asGenerator<number, string>(async (emit) => {
      seen.push(0);
      void emit(1);
      await emit(2);
      seen.push(2);
      void emit(3);
      return 'end';
    });
    expect(seen).toEqual([]);
    expect([await numbers.next(), await numbers.next()].map(({ value }) => value)).toEqual([1, 2]);
    expect(seen).toEqual([0]);
    expect([await numbers.next(), await numbers.next()].map(({ value }) => value)).toEqual([3, 'end']);
    expect(seen).toEqual([0, 2]);
  });

  it('throws what the work throws, behind what it has emitted', async () => {
    const broken = asGenerator<number, void>(async (emit) => {
      void emit(1);
      throw new Error('broken');
    });
    expect((await broken.next()).value).toBe(1);
    await expect(broken.next()).rejects.toThrow('broken');
  });

  it('tells the work that the reader has stopped, waits for its end, and shows the errors of that end', async () => {
    const errors: unknown[] = [];
    const left = asGenerator<number, void>(async (emit) => {
      await emit(1).catch((error) => errors.push(error));
      await emit(2).catch((error) => errors.push(error));
      throw new Error('cannot end');
    });
    await left.next();
    await expect(left.return()).rejects.toThrow('cannot end');
    expect(errors).toEqual([expect.any(ReaderGone), expect.any(ReaderGone)]);
  });

  it('ends the generators that it reads when its own reader stops', async () => {
    let isEnded = false;
    async function* endless() {
      try {
        for (let n = 1; ; n += 1) yield n;
      } finally {
        isEnded = true;
      }
    }
    for await (const n of asGenerator<number, void>((emit) => drain(endless(), emit))) if (n === 3) break;
    expect(isEnded).toBe(true);
  });
});

describe('values in turn', () => {
  it('go out one at a time, and the next one also after a failure', async () => {
    const seen: string[] = [];
    const sent = inTurn<number>(async (value) => {
      seen.push(`begins ${value}`);
      await Promise.resolve();
      seen.push(`ends ${value}`);
      if (value === 1) throw new Error('one');
    });
    const ends = await Promise.allSettled([sent(1), sent(2)]);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(seen).toEqual(['begins 1', 'ends 1', 'begins 2', 'ends 2']);
  });
});
