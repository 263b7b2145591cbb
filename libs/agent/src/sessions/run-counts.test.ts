import { expect, it } from 'vitest';
import { countNameOf, readCount, sumRuns } from './run-counts.ts';

const run = (version: string, ms: number, isFailed = false) => ({ version, ms, isFailed });
const counted = (runs: ReturnType<typeof run>[]) => runs.map((each) => readCount(countNameOf(each), 1));

it('a counted time is at least the time of the run, and at most 19 % more', () => {
  for (const ms of [1, 2, 7, 99, 1_000, 65_537, 3_600_000]) {
    const [{ withinMs } = { withinMs: 0 }] = counted([run('1.0.0', ms)]);
    expect(withinMs).toBeGreaterThanOrEqual(ms - 0.5);
    expect(withinMs).toBeLessThanOrEqual(ms * 1.2 + 1);
  }
  expect(counted([run('1.0.0', 0)])[0]?.withinMs).toBe(1);
});

it('sums runs, failures and times up for each version', () => {
  const slow = Array.from({ length: 10 }, () => run('2.0.0-rc.1', 1_024, true));
  const fast = Array.from({ length: 90 }, () => run('2.0.0-rc.1', 16));
  expect(sumRuns(counted([...slow, ...fast, run('1.0.0', 64)]))).toEqual([
    { version: '1.0.0', runs: 1, failed: 0, p50Ms: 64, p95Ms: 64 },
    { version: '2.0.0-rc.1', runs: 100, failed: 10, p50Ms: 16, p95Ms: 1_024 },
  ]);
  expect(sumRuns([])).toEqual([]);
});
