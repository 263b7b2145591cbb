import { expect, it } from 'vitest';
import { runPrograms } from './random-code.fixture.ts';

it('300 random programs end, and lose no call', async () => {
  const { findings, modelCalls } = await runPrograms(1, 300);
  expect(findings).toEqual([]);
  expect(modelCalls).toBeGreaterThan(600);
});
