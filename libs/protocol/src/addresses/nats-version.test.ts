import { expect, it } from 'vitest';
import { isAtLeast } from './nats-version.ts';

it.each([
  ['2.10.0', true],
  ['2.10', true],
  ['2.15.1', true],
  ['3.0.0', true],
  ['2.9.25', false],
  ['1.99.0', false],
  ['', false],
  ['of an unknown version', false],
])('tells whether %j is 2.10 or newer: %j', (version, answer) => {
  expect(isAtLeast(version, '2.10')).toBe(answer);
});
