import { expect, it } from 'vitest';
import { readJson } from './read-json.ts';

it('reads JSON, whatever its strings hold', () => {
  const value = { a: ['[[[', '{"', '\\', '\\"', '\\\\"[', ''], b: { c: [1, null, true] }, '[': '"' };
  expect(readJson(JSON.stringify(value))).toEqual(value);
  const brackets = ['['.repeat(2_000), `"${'{'.repeat(600_000)}\\`];
  expect(readJson(JSON.stringify(brackets))).toEqual(brackets);
});

it.each(['{', '"', '"\\"', '[1,]', ']', 'x'])('refuses what is no JSON: %s', (text) => {
  expect(() => readJson(text)).toThrow('the body is not JSON');
});

it.each([
  [`${'['.repeat(1_000)}${']'.repeat(1_000)}`, undefined],
  [`${'['.repeat(1_001)}${']'.repeat(1_001)}`, 'nested more than 1000 deep'],
  [`${'{"a":'.repeat(1_001)}1${'}'.repeat(1_001)}`, 'nested more than 1000 deep'],
  [`[${'{},'.repeat(499_998)}{}]`, undefined],
  [`[${'{},'.repeat(499_999)}{}]`, 'more than 500000 lists and objects'],
])('refuses bodies that take much memory (%#)', (text, problem) => {
  if (problem === undefined) expect(() => readJson(text)).not.toThrow();
  else expect(() => readJson(text)).toThrow(problem);
});
