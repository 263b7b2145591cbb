import { expect, it } from 'vitest';
import { differencesOf } from './differences.ts';
import type { Outcome } from './kit.ts';

const outcome = (more: Partial<Outcome> = {}): Outcome => ({
  turns: [[{ author: 'root', parts: ['one'] }, { author: 'root' }]],
  invocations: [1],
  repeated: 0,
  untold: [],
  unkept: [],
  state: { s: { a: { x: 1, y: 2 } } },
  prompts: { m: [{ contents: ['hi'], tools: [] }] },
  ...more,
});

it('finds none when only the order of keys differs', () => {
  expect(differencesOf(outcome(), outcome({ state: { s: { a: { y: 2, x: 1 } } } }))).toEqual([]);
});

it('reports an event that only one outcome has, and not the events after it', () => {
  const more = outcome({ turns: [[{ author: 'new' }, ...(outcome().turns[0] ?? [])]] });
  expect(differencesOf(outcome(), more)).toEqual(['+ turn 0, 0: {"author":"new"}']);
  expect(differencesOf(more, outcome())).toEqual(['- turn 0, 0: {"author":"new"}']);
});

it('reports events in another order', () => {
  const turned = outcome({ turns: [(outcome().turns[0] ?? []).toReversed()] });
  expect(differencesOf(outcome(), turned)).toHaveLength(2);
});

it('reports differences in state, prompts and counts', () => {
  const other = outcome({
    state: { s: { a: 1, b: null } },
    prompts: { m: [{ contents: ['hi', 'ho'], tools: ['t'] }, { contents: [] }] },
    untold: ['root'],
  });
  expect(differencesOf(outcome(), other)).toEqual([
    '- state of s, 0: a: {"x":1,"y":2}',
    '+ state of s, 0: a: 1',
    '+ state of s, 1: b: null',
    '- prompt 0 of m, 1: tools: []',
    '+ prompt 0 of m, 1: "ho"',
    '+ prompt 0 of m, 2: tools: ["t"]',
    '- books, 2: untold: []',
    '+ books, 2: untold: ["root"]',
  ]);
});
