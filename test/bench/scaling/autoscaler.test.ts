import { expect, it } from 'vitest';
import { createAutoscaler, manifestRules } from './autoscaler.ts';

/** Plays lags by the second; replicas start at once. Returns the number of replicas after each second. */
function play(lags: readonly number[], changes: Partial<ReturnType<typeof manifestRules>> = {}): number[] {
  // One second of the play is a sync period: 15 s of a cluster.
  const decide = createAutoscaler({
    ...manifestRules(15, 20),
    cooldownMs: 3_000,
    stabilizationMs: 3_000,
    ...changes,
  });
  let replicas = 0;
  return lags.map((lag, second) => {
    replicas = decide(second * 1_000, lag, replicas);
    return replicas;
  });
}

it('starts the first replica for one message, and keeps the ceiling of lag by threshold', () => {
  expect(play([0, 1, 1, 18, 36, 48])).toEqual([0, 1, 1, 2, 3, 3]);
});

it('adds four replicas in a period at most, or as many as there are, up to the maximum', () => {
  expect(play([1_000, 1_000, 1_000, 1_000, 1_000])).toEqual([1, 5, 10, 20, 20]);
});

it('changes nothing while the lag is within a tenth of the target', () => {
  expect(play([16, 32, 35, 36])).toEqual([1, 2, 2, 3]);
});

it('keeps the largest recommendation of the stabilization window, and one replica until the cooldown is over', () => {
  expect(play([16, 48, 16, 16, 16, 0, 0, 0, 0])).toEqual([1, 3, 3, 3, 1, 1, 1, 0, 0]);
});

it('keeps the least number of replicas', () => {
  expect(play([0, 0, 64, 0, 0, 0, 0, 0, 0], { min: 2 })).toEqual([2, 2, 4, 4, 4, 2, 2, 2, 2]);
});
