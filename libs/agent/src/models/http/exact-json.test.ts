import { expect, it } from 'vitest';
import { parseExactly, parseMarked } from './exact-json.ts';

it('refuses JSON whose numbers would change', () => {
  expect(() => parseExactly('{"id":9007199254740993}')).toThrow('9007199254740993 is too large');
  expect(() => parseExactly('[-1e400]')).toThrow('-1e400 is too large');
});

it.each([
  ['[9007199254740993, -123456789012345678901234]', [2 ** 53, -(2 ** 53)]],
  ['{"a":1e400,"b":1E+999}', { a: 2 ** 53, b: 2 ** 53 }],
  [
    '[6.02e23, 0.125000000000000000000, 9007199254740991, "12345678901234567890"]',
    [6.02e23, 0.125, 9_007_199_254_740_991, '12345678901234567890'],
  ],
])('marks numbers that would change, and no others: %s', (json, value) => {
  expect(parseMarked(json)).toEqual(value);
});
