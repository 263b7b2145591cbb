import { InMemorySessionService } from '@agentmesh/agent';
import { expect, it } from 'vitest';
import { countCalls } from './count-calls.ts';

const ref = { appName: 'app', userId: 'u', sessionId: 's', invocationId: 'i' };

function counter(most: number, counted = 0) {
  const { invocations } = new InMemorySessionService();
  const calls = { uncounted: 0, counted };
  const count = countCalls(invocations, calls, { token: undefined, most });
  return { calls, count: () => count(ref), stored: async () => (await invocations.get(ref)).llmCalls };
}

it('leaves calls far from the limit to the next commit, and counts calls near it at once', async () => {
  const { calls, count, stored } = counter(6);
  expect([await count(), await count(), await count()]).toEqual([1, 2, 3]);
  expect(await stored()).toBe(0);
  expect(calls).toEqual({ uncounted: 3, counted: 0 });
  expect(await count()).toBe(4);
  expect(await stored()).toBe(4);
  expect(calls).toEqual({ uncounted: 0, counted: 4 });
  expect([await count(), await count(), await count()]).toEqual([5, 6, 7]);
  expect(await stored()).toBe(7);
});

it('begins with the calls of earlier deliveries', async () => {
  const { count, stored } = counter(6, 5);
  await count();
  expect(await stored()).toBe(1);
});

it('leaves all calls to commits without a limit', async () => {
  const { calls, count, stored } = counter(0);
  for (let n = 0; n < 100; n += 1) await count();
  expect(calls.uncounted).toBe(100);
  expect(await stored()).toBe(0);
});
