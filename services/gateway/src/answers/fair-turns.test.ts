import { expect, it, vi } from 'vitest';
import { FairTurns } from './fair-turns.ts';

const options = { atOnce: 2, waitMs: 1_000, mostOfOne: 3, most: 5 };

/** Works that end when they are told to. */
function stage(turns: FairTurns) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string, label = name) =>
    turns.run(name, async () => {
      begun.push(label);
      await new Promise<void>((resolve) => ends.push(resolve));
      return label;
    });
  const endNext = async () => {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { begun, work, endNext };
}

it('gives turns to names one after the other', async () => {
  const { begun, work, endNext } = stage(new FairTurns(options));
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1'].map((label) => work(label.slice(0, 1), label));
  expect(begun).toEqual(['a1', 'a2']);
  for (let count = 0; count < 6; count += 1) await endNext();
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'a4']);
  expect(await Promise.all(all)).toHaveLength(6);
});

it('refuses what would wait too long, or behind too many', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { begun, work, endNext } = stage(new FairTurns(options));
  const first = [work('a'), work('a')];
  const waiting = [work('a', 'late'), work('a'), work('a')].map((each) => each.catch((error) => error.code));
  await expect(work('a')).rejects.toMatchObject({
    ...{ code: 'resource_exhausted', details: { retryAfterMs: 1_000 } },
  });
  waiting.push(
    work('b').catch((error) => error.code),
    work('c').catch((error) => error.code),
  );
  await expect(work('d')).rejects.toMatchObject({ code: 'resource_exhausted' });
  vi.advanceTimersByTime(1_000);
  expect(await Promise.all(waiting)).toEqual(Array(5).fill('resource_exhausted'));
  vi.useRealTimers();
  await endNext();
  await endNext();
  await Promise.all(first);
  const next = work('e');
  expect(begun).toEqual(['a', 'a', 'e']);
  await endNext();
  expect(await next).toBe('e');
});

it('frees the turn of a work that fails', async () => {
  const turns = new FairTurns({ ...options, atOnce: 1 });
  await expect(turns.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await turns.run('a', async () => 'yes')).toBe('yes');
});
