import { createEvent } from '@agentmesh/agent';
import { keys } from '@agentmesh/protocol';
import { connectRedisStore } from '@agentmesh/store';
import { startRedis } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { readRedisRest } from './redis-rest.ts';

const ref = { appName: 'shop', userId: 'ann:1', sessionId: 's1' };
const clean = { holders: [], waitingRuns: [], claims: [], jobs: [], orphanKeys: [] };

it('sorts out what is left in Redis, and nothing else', async () => {
  await using server = await startRedis();
  await using store = await connectRedisStore({ url: server.url });
  const { sessions, callResults, jobs } = store;
  const rest = () => readRedisRest([server]);
  const session = await sessions.createSession(ref);
  const run = { ...ref, invocationId: 'e-1' };
  const taken = await sessions.leases.take(run, { run: '{}', whenBusy: 'enqueue' });
  if (taken.state !== 'held') throw new Error('nobody else has the session');
  await sessions.appendEvent({ session, event: createEvent({ invocationId: 'e-1', author: 'front' }) });
  await sessions.leases.take({ ...ref, invocationId: 'e-2' }, { run: '{}', whenBusy: 'enqueue' });
  await callResults.take('add', 'c1', 'holder', 60_000);
  await jobs.take('work', 'j1', 'holder', 60_000);
  const busy = await rest();
  expect(busy.orphanKeys).toEqual([]);
  const { holders, waitingRuns, claims, jobs: open } = busy;
  // The waiting run is in the queue of its session, and in the list of its user.
  expect([holders, waitingRuns, claims, open].map(({ length }) => length)).toEqual([1, 2, 1, 1]);

  await sessions.invocations.end(run, { status: 'completed' }, taken.token);
  await sessions.invocations.cancel({ ...ref, invocationId: 'e-2' }, 'enough');
  await callResults.put('add', 'c1', { response: 1 }, 60_000);
  await jobs.finish('work', 'j1', { response: 1 });
  expect(await rest()).toEqual(clean);

  const redis = new Redis({ host: server.host, port: server.port });
  const orphans = [
    'am:unknown',
    keys().state({ ...ref, sessionId: 'gone' }),
    keys().call('add', 'c2'),
    keys().invocation(ref.appName, ref.userId, 'e-3'),
    keys().session({ ...ref, sessionId: 'half deleted' }),
  ];
  for (const key of orphans) await redis.hset(key, 'result', '1', 'owner', 'gone');
  const ofCopy = keys().session({ ...ref, sessionId: 'half deleted, and expires' });
  await redis.hset(ofCopy, 'nonce', '1');
  await redis.pexpire(ofCopy, 60_000);
  redis.disconnect();
  expect((await rest()).orphanKeys.sort()).toEqual(orphans.sort());
});
