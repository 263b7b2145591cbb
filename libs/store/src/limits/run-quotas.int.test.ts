import { type Server, startRedis } from '@agentmesh/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectRedisStore, type RedisStore } from '../redis-store.ts';
import type { OpenRun, RunQuota } from './run-quotas.ts';

let server: Server;
let stores: RedisStore[];
beforeAll(async () => {
  server = await startRedis();
  stores = await Promise.all([1, 2].map(() => connectRedisStore({ url: server.url })));
});
afterAll(async () => {
  await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
  await server.stop();
});

/** Returns the quotas of one of two processes in turn. */
const quotasOf = (turn: number) => stores[turn % 2]?.runQuotas ?? expect.fail();

let count = 0;
const runOf = (who: string, more: Partial<OpenRun> = {}): OpenRun => {
  count += 1;
  return {
    ...{ appName: `app-${who}`, userId: `user-${who}`, sessionId: 's', invocationId: `e-${count}` },
    ...{ caller: `caller-${who}`, until: Date.now() + 60_000 },
    ...more,
  };
};
const quota = (scope: RunQuota['scope'], of: RunQuota['of'], most: number): RunQuota => ({
  ...{ scope, of, window: 'minute', most },
});

test('runs are counted over all processes, exactly, and a run that one quota refuses counts at none', async () => {
  const quotas = [quota('caller', 'runs', 100), quota('user', 'runs', 20), quota('app', 'runs', 50)];
  const refusals = await Promise.all(
    Array.from({ length: 300 }, (_, turn) =>
      quotasOf(turn).admit(runOf('a', { userId: `user-${turn % 4}` }), 0, quotas),
    ),
  );
  expect(refusals.filter((each) => each === undefined)).toHaveLength(50);
  const refused = refusals.find((each) => each !== undefined);
  expect(refused?.waitMs).toBeGreaterThan(0);
  const others = await Promise.all(
    Array.from({ length: 300 }, (_, turn) =>
      quotasOf(turn).admit(runOf('a', { appName: 'other', userId: `user-${turn % 4}` }), 0, quotas),
    ),
  );
  // The four users may begin 30 runs more, and the refused runs have not used up the caller's.
  expect(others.filter((each) => each === undefined)).toHaveLength(30);
  expect(others.find((each) => each !== undefined)?.quota.scope).toBe('user');
});

test('tokens count once, whoever counts them, and refuse the next run when a quota is used up', async () => {
  const quotas = [
    quota('caller', 'tokens', 1_000),
    { ...quota('app', 'tokens', 5_000), window: 'day' } as const,
  ];
  const run = runOf('t');
  expect(await quotasOf(0).admit(run, 0, quotas)).toBeUndefined();
  expect(await quotasOf(1).openRuns()).toEqual([run]);
  // Both processes count at the same time, and one of them late.
  await Promise.all([0, 1, 0, 1].map((turn) => quotasOf(turn).countTokens(run, 600, false)));
  await quotasOf(0).countTokens(run, 400, false);
  const second = runOf('t');
  expect(await quotasOf(1).admit(second, 0, quotas)).toBeUndefined();
  await Promise.all([0, 1].map((turn) => quotasOf(turn).countTokens(run, 999, true)));
  expect(await quotasOf(1).admit(runOf('t'), 0, quotas)).toBeUndefined();
  await quotasOf(1).countTokens(second, 1, true);
  const refused = await quotasOf(0).admit(runOf('t'), 0, quotas);
  expect(refused?.quota).toEqual(quotas[0]);
  expect(refused?.waitMs).toBeLessThanOrEqual(120_000);
  expect(await quotasOf(0).admit(runOf('t', { caller: 'other' }), 0, quotas)).toBeUndefined();
});

test('a run that continues an invocation counts what the invocation uses from then on', async () => {
  const quotas = [quota('caller', 'tokens', 100)];
  const first = runOf('c', { caller: 'asker' });
  await quotasOf(0).admit(first, 0, quotas);
  await quotasOf(0).countTokens(first, 60, false);
  const answer: OpenRun = { ...first, resume: 'r1', caller: 'manager' };
  expect(await quotasOf(1).admit(answer, 60, quotas)).toBeUndefined();
  // The gateway of the first run is late: the open run is another one by now.
  await quotasOf(0).countTokens(first, 90, true);
  await quotasOf(1).countTokens(answer, 130, true);
  const next = (caller: string) => quotasOf(0).admit(runOf('c', { caller }), 0, quotas);
  expect(await next('asker')).toBeUndefined();
  expect(await next('manager')).toBeUndefined();
  const last: OpenRun = { ...first, resume: 'r2', caller: 'manager' };
  await quotasOf(0).admit(last, 130, quotas);
  await quotasOf(0).countTokens(last, 160, true);
  expect((await next('manager'))?.quota.scope).toBe('caller');
  expect(await next('asker')).toBeUndefined();
});

test('one process at a time looks after the open runs', async () => {
  const turns = await Promise.all([0, 1, 0, 1].map((turn) => quotasOf(turn).takeTurn(60_000)));
  expect(turns.filter(Boolean)).toHaveLength(1);
});
