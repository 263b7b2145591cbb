import { expect, it } from 'vitest';
import { nearest } from './nearest.ts';

it.each([
  ['inti', ['init', 'dev'], 'init'],
  ['sessionn', ['session', 'user'], 'session'],
  ['abcdef', ['ghijkl'], undefined],
])('finds the name that is meant by %s', (name, known, meant) => {
  expect(nearest(name, known)).toBe(meant);
});
