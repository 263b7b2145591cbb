import { describe, expect, it } from 'vitest';
import { copyJson } from './copy-json.ts';
import { frozenJson } from './frozen-json.ts';

const values: [string, unknown][] = [
  ['an object in lists', { a: [{ b: [1, 'two', true, null] }], 7: 'x', c: '' }],
  ['fields without a value', { a: undefined, b: 1 }],
  ['a negative zero', [-0, { n: -0 }]],
  ['a date', { at: new Date(0) }],
  ['an object with toJSON', { a: { toJSON: () => ({ b: undefined, c: [1] }) } }],
  [
    'an object of a class',
    new (class Point {
      x = 1;
    })(),
  ],
  ['an object without prototype', Object.assign(Object.create(null), { a: 1 })],
  ['the field __proto__', JSON.parse('{"__proto__":{"polluted":true},"a":[{"__proto__":1}]}')],
  ['bytes', { a: new Uint8Array([1, 2]) }],
  ['something deep', Array.from({ length: 150 }).reduce((inner) => ({ inner }), { end: [1] })],
];

describe('a frozen copy', () => {
  it.each(values)('of %s is what JSON gives back', (_name, value) => {
    const { copy, maxBytes } = frozenJson(value, 'it');
    const json = JSON.stringify(value);
    expect(JSON.stringify(copy)).toBe(json);
    expect(copy).toEqual(JSON.parse(json));
    expect(maxBytes).toBeGreaterThanOrEqual(Buffer.byteLength(json));
  });

  it('has whole characters', () => {
    expect(frozenJson({ a: '\ud800', b: new Date(0), c: ['\udc00'] }, 'it').copy).toMatchObject({
      a: '\uFFFD',
      c: ['\uFFFD'],
    });
    expect(frozenJson(['\ud800'], 'it').copy).toEqual(['\uFFFD']);
  });

  it('is frozen at every depth and shares nothing', () => {
    const value = { a: [{ b: { c: 1 } }] };
    const { copy } = frozenJson(value, 'it');
    for (const part of [copy, copy.a, copy.a[0], copy.a[0]?.b]) expect(Object.isFrozen(part)).toBe(true);
    Object.assign(value.a[0]?.b ?? {}, { c: 2 });
    expect(copy.a[0]?.b.c).toBe(1);
  });

  it.each([
    ['a function', { f: () => 1 }],
    ['a big integer', [1n]],
    ['NaN', { n: Number.NaN }],
    ['a Map', { m: new Map() }],
    ['a hole in a list', { a: new Array(1) }],
    [
      'a cycle',
      (() => {
        const cycle: Record<string, unknown> = {};
        cycle.self = cycle;
        return cycle;
      })(),
    ],
  ])('of %s is refused', (_name, value) => {
    expect(() => frozenJson(value, 'it')).toThrow(/it is not JSON/);
  });
});

describe('a copy of JSON', () => {
  it.each(values)('of %s can be changed without a change of the original', (_name, value) => {
    const { copy: original } = frozenJson(value, 'it');
    const copy = copyJson(original);
    expect(copy).toEqual(original);
    expect(JSON.stringify(copy)).toBe(JSON.stringify(original));
    expect(Object.isFrozen(copy)).toBe(false);
  });
});
