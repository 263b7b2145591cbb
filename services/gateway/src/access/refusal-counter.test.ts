import { expect, it } from 'vitest';
import { RefusalCounter } from './refusal-counter.ts';

it('takes the first refusal of each kind in a minute', () => {
  let now = 0;
  const counter = new RefusalCounter(() => now);
  expect([counter.isFirst('a'), counter.isFirst('a'), counter.isFirst('b')]).toEqual([true, false, true]);
  now = 59_999;
  expect(counter.isFirst('a')).toBe(false);
  now = 60_000;
  expect(counter.isFirst('a')).toBe(true);
});

it('takes no more than 500 kinds in a minute', () => {
  const counter = new RefusalCounter(() => 0);
  const taken = Array.from({ length: 2_000 }, (_, n) => counter.isFirst(String(n))).filter(Boolean);
  expect(taken).toHaveLength(500);
});
