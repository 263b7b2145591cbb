import { expect, it } from 'vitest';
import { subjectMatches } from './subject-match.ts';

it.each([
  ['a.b', 'a.b', true],
  ['a.b', 'a.c', false],
  ['a.b', 'a.b.c', false],
  ['a.*', 'a.b', true],
  ['a.*', 'a', false],
  ['a.*', 'a.b.c', false],
  ['*.b', 'a.b', true],
  ['a.>', 'a.b', true],
  ['a.>', 'a.b.c', true],
  ['a.>', 'a', false],
  ['>', 'a', true],
  ['a.*.c.>', 'a.b.c.d', true],
  ['a.*.c.>', 'a.b.d.d', false],
])('pattern %s and subject %s: %s', (pattern, subject, matches) => {
  expect(subjectMatches(pattern, subject)).toBe(matches);
});
