import { expect, test } from 'vitest';
import { seededRandom } from './random.ts';

const draw = (seed: number | string) => {
  const random = seededRandom(seed);
  return Array.from({ length: 50 }, () => random.integer(1, 6));
};

test('gives the same numbers for the same seed, and different ones for another seed', () => {
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
});

test('gives each whole number within both bounds', () => {
  expect([...new Set(draw('dice'))].sort()).toEqual([1, 2, 3, 4, 5, 6]);
});

test('a fork does not depend on numbers drawn elsewhere', () => {
  const first = seededRandom(1);
  first.next();
  expect(first.fork('faults').next()).toBe(seededRandom(1).fork('faults').next());
  expect(first.fork('faults').next()).not.toBe(first.fork('traffic').next());
});

test('shuffles and picks items of a list', () => {
  const random = seededRandom(3);
  const list = ['a', 'b', 'c', 'd', 'e', 'f'];
  expect(random.shuffle(list).toSorted()).toEqual(list);
  expect(random.shuffle(list)).not.toEqual(list);
  expect(list).toContain(random.pick(list));
  expect(() => random.pick([])).toThrow(RangeError);
});
