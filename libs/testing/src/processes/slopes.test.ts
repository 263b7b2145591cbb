import { expect, test } from 'vitest';
import { describeSlopes, type Sample, slopesOf } from './slopes.ts';

const minutes = (count: number, value: (minute: number) => Record<string, number>): Sample[] =>
  Array.from({ length: count }, (_, at) => ({ at: at * 60_000, values: value(at) }));

test('finds the growth of a value, also below noise', () => {
  const samples = minutes(61, (minute) => ({
    flat: 5,
    growing: 100 + 2 * minute,
    noisy: 100 + minute + (minute % 2 === 0 ? 10 : -10),
  }));
  const [flat, growing, noisy] = slopesOf(samples);
  expect(flat).toEqual({ name: 'flat', first: 5, last: 5, perHour: 0, samples: 61 });
  expect(growing?.perHour).toBeCloseTo(120);
  expect(noisy?.perHour).toBeGreaterThan(55);
  expect(noisy?.perHour).toBeLessThan(65);
});

test('leaves out a value that was measured once, and prints the others', () => {
  const samples = minutes(
    3,
    (minute): Record<string, number> => (minute === 1 ? { once: 1, keys: 3 } : { keys: 3 + minute }),
  );
  expect(describeSlopes(slopesOf(samples))).toBe(
    '  keys                           first         3  last         5  +60 in an hour (3 samples)',
  );
});
