import { expect, it } from 'vitest';
import { createCallCounts } from './call-counts.ts';

it('counts calls and transfers by their target, and those that failed', () => {
  const counts = createCallCounts();
  counts.add({ to: 'pay', kind: 'tool', how: 'call' }, false);
  counts.add({ to: 'pay', kind: 'tool', how: 'call' }, true);
  counts.add({ to: 'pay', kind: 'agent', how: 'transfer' }, false);
  expect(counts.list()).toEqual([
    { to: 'pay', kind: 'tool', how: 'call', count: 2, errors: 1 },
    { to: 'pay', kind: 'agent', how: 'transfer', count: 1, errors: 0 },
  ]);
});

it('counts a hundred targets at most', () => {
  const counts = createCallCounts();
  for (let n = 0; n < 150; n += 1) counts.add({ to: `tool_${n}`, kind: 'tool', how: 'call' }, false);
  counts.add({ to: 'tool_99', kind: 'tool', how: 'call' }, false);
  expect(counts.list()).toHaveLength(100);
  expect(counts.list().at(-1)).toMatchObject({ to: 'tool_99', count: 2 });
});
