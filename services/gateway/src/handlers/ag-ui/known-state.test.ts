import { expect, it } from 'vitest';
import { KnownState } from './known-state.ts';

const large = { b: 'x'.repeat(5_000), a: 1 };

it('keeps a small state with its changes', () => {
  const known = new KnownState({ a: 1, b: { c: [2] } });
  known.change({ a: null, d: 4 });
  expect(known.kept).toEqual({ a: null, b: { c: [2] }, d: 4 });
  expect(known.isSame({ b: { c: [2] }, d: 4, a: null })).toBe(true);
  expect(known.isSame({ b: { c: [2] }, d: 4, a: 1 })).toBe(false);
});

it('knows a large state again, and keeps nothing of it', () => {
  const known = new KnownState(large);
  expect(known.kept).toBeUndefined();
  expect(known.isSame({ a: 1, b: large.b })).toBe(true);
  expect(known.isSame({ ...large, a: 2 })).toBe(false);
});

it('does not know a large state after a change, nor a small one that has become large', () => {
  const known = new KnownState(large);
  known.change({ a: 2 });
  expect(known.isSame({ ...large, a: 2 })).toBe(false);
  const grown = new KnownState({ a: 1 });
  grown.change({ b: large.b });
  expect([grown.kept, grown.isSame({ a: 1, b: large.b })]).toEqual([undefined, false]);
});

it('loses no key of the prototype, and gives no object another one', () => {
  const known = new KnownState({ a: 1 });
  known.change(JSON.parse('{"__proto__":{"polluted":1}}'));
  expect(JSON.stringify(known.kept)).toBe('{"a":1,"__proto__":{"polluted":1}}');
  expect(Object.getPrototypeOf(known.kept)).toBe(Object.prototype);
});
