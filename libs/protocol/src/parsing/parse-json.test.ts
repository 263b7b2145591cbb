import { describe, expect, it } from 'vitest';
import { parseJson } from './parse-json.ts';

describe('JSON of other programs', () => {
  it.each([
    ['9007199254740993', '9007199254740993'],
    ['{"a":[{"id":12345678901234567891}]}', 'the field "id" is the whole number 12345678901234567891'],
    ['[-9007199254740993]', '-9007199254740993'],
    [`{"n":1${'0'.repeat(29)}}`, 'send it as a string'],
  ])('is refused when a whole number would change: %s', (text, says) => {
    expect(() => parseJson(text)).toThrow(says);
  });

  it.each([
    '9007199254740991',
    '-9007199254740991',
    '12345678901234567000',
    '0.12345678901234567',
    '1e22',
    '"9007199254740993"',
  ])('keeps the value %s', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it('may begin with a byte order mark', () => {
    expect(parseJson('\uFEFF{"a":1}')).toEqual({ a: 1 });
  });
});
