import { expect, test } from 'vitest';
import { planFaults } from './fault-plan.ts';
import { seededRandom } from './random.ts';

const deck = ['agent', 'agent', 'tool', 'nats'];
const plan = (seed: number) => {
  const faults = planFaults({ random: seededRandom(seed), deck, everyMs: 1_000 });
  return Array.from({ length: 40 }, () => faults.next().value);
};

test('follows from the seed', () => {
  expect(plan(1)).toEqual(plan(1));
  expect(plan(1)).not.toEqual(plan(2));
});

test('deals each fault as often as the deck has it, at about the given pace', () => {
  const faults = plan(5);
  for (let at = 0; at < faults.length; at += deck.length) {
    expect(faults.slice(at, at + deck.length).map(({ fault }) => fault)).toEqual(
      expect.arrayContaining(deck),
    );
  }
  for (const { waitMs } of faults) {
    expect(waitMs).toBeGreaterThanOrEqual(500);
    expect(waitMs).toBeLessThanOrEqual(1_500);
  }
});

test('refuses an empty deck', () => {
  expect(() => planFaults({ random: seededRandom(1), deck: [], everyMs: 1 }).next()).toThrow(RangeError);
});
