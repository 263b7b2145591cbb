import { seededRandom } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { randomSpoils } from './random-spoils.fixture.ts';
import { check } from './rules.ts';
import { simulate } from './simulator.fixture.ts';

const seeds = Array.from({ length: 40 }, (_, at) => at + 1);

it('finds nothing in simulated histories', () => {
  for (const seed of seeds) expect(check(simulate(seed).history), `seed ${seed}`).toEqual([]);
});

it.each(Object.entries(randomSpoils))('finds a simulated history in which %s', (_name, spoil) => {
  const missed = seeds.slice(0, 12).filter((seed) => {
    const { history } = simulate(seed);
    return spoil(history, seededRandom(`${seed}/spoil`)) && check(history).length === 0;
  });
  expect(missed).toEqual([]);
});
