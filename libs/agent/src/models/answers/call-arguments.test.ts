import { describe, expect, it } from 'vitest';
import { checkArgs, problemOfArgs, readArgs } from './call-arguments.ts';

describe('the arguments of a call', () => {
  it.each<[string, string, unknown]>([
    ['an object', '{"a":1}', { a: 1 }],
    ['an object written twice', '"{\\"a\\":1}"', { a: 1 }],
    ['an object written three times', JSON.stringify(JSON.stringify('{"a":1}')), { a: 1 }],
    ['null', 'null', {}],
    ['an empty text', '""', {}],
    ['the largest exact number', '{"a":9007199254740991}', { a: 9_007_199_254_740_991 }],
    ['a number with an exponent', '{"a":6.02e23}', { a: 6.02e23 }],
  ])('are read from %s', (_what, json, args) => {
    expect(readArgs(json)).toEqual(args);
    expect(problemOfArgs(readArgs(json))).toBeUndefined();
  });

  it.each([
    ['half an object', '{"a":', /not JSON/],
    ['a list', '[1]', /no JSON object/],
    ['words', '"go"', /not JSON/],
    ['a number beyond 2^53', '{"a":[{"b":-9007199254740993}]}', /-9007199254740993.*send it as a string/],
    ['a number of thirty digits', `{"a":${'9'.repeat(30)}}`, /send it as a string/],
  ])('have a problem when they are %s', (_what, json, problem) => {
    expect(problemOfArgs(readArgs(json))).toMatch(problem);
  });

  it('are checked when they come as an object', () => {
    const args = { a: [1, 1e300] };
    expect(checkArgs(args)).toBe(args);
    expect(problemOfArgs(checkArgs({ a: [{ b: 2 ** 53 }] }))).toMatch(/send it as a string/);
  });
});
