import { canarySchema } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { slowlyLowered, wantedWeight } from './weigh-asks.ts';

const canary = (percent: number, more: object = {}) =>
  canarySchema.parse({ agent: 'desk', version: '2.0.0', percent, ...more });

describe('the weights of replicas', () => {
  it.each([
    [10, 1, 1, [1, 9]],
    [10, 1, 9, [1, 1]],
    [10, 3, 3, [1, 9]],
    [25, 2, 1, [1, 6]],
    [50, 1, 1, [1, 1]],
    [90, 1, 1, [9, 1]],
    [0.001, 1, 1, [1, 49]],
    [0, 1, 1, [0, 1]],
    [100, 1, 1, [1, 0]],
  ])('give %d %% to %d replicas of the canary, beside %d others', (percent, ofCanary, others, weights) => {
    const up = new Map([
      ['2.0.0', ofCanary],
      ['1.0.0', others],
    ]);
    const wanted = ['2.0.0', '1.0.0'].map((version) => wantedWeight(canary(percent), version, up));
    expect(wanted).toEqual(weights);
  });

  it.each([
    ['without a canary', undefined, new Map([['1.0.0', 2]])],
    ['while the canary ends', canary(10, { ending: true }), new Map([['1.0.0', 2]])],
    ['while no replica of the canary is up', canary(100), new Map([['1.0.0', 2]])],
    ['for a version that is alone and has just started', canary(100), new Map<string, number>()],
  ])('are 1 %s', (_, record, up) => {
    expect(wantedWeight(record, '1.0.0', up)).toBe(1);
  });
});

it('a weight rises at once, and falls at the second look that wants it', async () => {
  const set: number[] = [];
  const weight = slowlyLowered(async (each) => void set.push(each));
  for (const wanted of [0, 9, 1, 1, 1, 0]) await weight.set(wanted);
  expect(set).toEqual([0, 9, 1]);
  expect(weight.isSettled()).toBe(false);
  await weight.set(0);
  expect(set).toEqual([0, 9, 1, 0]);
  expect(weight.isSettled()).toBe(true);
});
