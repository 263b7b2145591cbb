import { randomUUID } from 'node:crypto';
import { credentialServicesConformance, sessionServiceConformance } from '@agentmesh/agent/conformance';
import { createSecretBox, newCredentialKeys } from '@agentmesh/protocol';
import { type Server, startRedis } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { storeOn } from '../redis-store.ts';
import { defineScript } from '../scripts/define-script.ts';
import { script } from '../scripts/script.ts';
import { connectRedis, type RedisConnection } from './redis-connection.ts';

const box = createSecretBox(newCredentialKeys('first'));

// In a cluster, a script that uses an undeclared key works only by chance, and not while its slot is moved.
const guard = `
local declared, theirs = {}, redis
for _, key in ipairs(KEYS) do declared[key] = true end
local function checked(call)
  return function(command, key, ...)
    if command == 'TIME' then return call(command) end
    if not declared[key] then error('undeclared key ' .. tostring(key)) end
    return call(command, key, ...)
  end
end
local redis = { call = checked(theirs.call), pcall = checked(theirs.pcall), sha1hex = theirs.sha1hex }
`;

let server: Server;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

async function open(change: (connection: RedisConnection) => Pick<RedisConnection, 'script'>) {
  const connection = await connectRedis({ url: server.url });
  const store = storeOn({ ...connection, ...change(connection) }, { prefix: `am:${randomUUID()}`, box });
  return { store, dispose: async () => await store[Symbol.asyncDispose]() };
}

const guarded = (connection: RedisConnection): Pick<RedisConnection, 'script'> => ({
  script: ({ source }, ...rest) => connection.script(script(guard + source), ...rest),
});

describe('with scripts that may touch declared keys only', () => {
  sessionServiceConformance('RedisSessionService', async () => {
    const { store, dispose } = await open(guarded);
    return { service: store.sessions, dispose };
  });

  credentialServicesConformance('Redis', async () => {
    const { store, dispose } = await open(guarded);
    if (!store.credentials) throw new Error('the store keeps no credentials');
    const { credentialService, signInService } = store.credentials;
    return {
      credentials: credentialService,
      records: store.credentialRecords,
      signIns: signInService,
      dispose,
    };
  });

  test('calls and jobs', async () => {
    const { store, dispose } = await open(guarded);
    const { callResults, jobs } = store;
    await callResults.take('t', 'c', 'a', 9_000);
    await callResults.release('t', 'c', 'a');
    await callResults.put('t', 'c', { response: 1 }, 9_000);
    await jobs.take('t', 'j', 'a', 9_000);
    await jobs.report('t', 'j', 'a', { n: 1 });
    await jobs.follow('t', 'j', 0);
    await jobs.release('t', 'j', 'a');
    await jobs.finish('t', 'j', { response: 1 });
    expect(await jobs.leave('t', 'j', 1)).toEqual({
      progress: [],
      end: { result: { response: 1 }, heard: true },
    });
    await dispose();
  });

  test('are detected when they use another key', async () => {
    const connection = await connectRedis({ url: server.url });
    const wrong = script(`${guard} return redis.call('GET', 'am:other')`);
    await expect(connection.script(wrong, ['am:k'], [])).rejects.toMatchObject({
      code: 'internal',
      cause: { message: expect.stringContaining('undeclared key am:other') },
    });
    await connection[Symbol.asyncDispose]();
  });
});

test('a script finds the value of its caller under each name', async () => {
  const echo = defineScript(
    { keys: 'first secondKey', args: 'one twoThree', lists: 'none many last' },
    'return { first, second_key, one, two_three, none, many, last }',
  );
  const connection = await connectRedis({ url: server.url });
  const many = Array.from({ length: 9_000 }, (_, n) => `v${n}`);
  const values = {
    first: 'am:{u}:a',
    secondKey: 'am:{u}:b',
    one: 1,
    twoThree: '',
    none: [],
    many,
    last: ['', 2],
  };
  const found = await connection.script(...echo.call(values));
  expect(found).toEqual(['am:{u}:a', 'am:{u}:b', '1', '', [], many, ['', '2']]);
  await connection[Symbol.asyncDispose]();
});

test('a progress message of a job is kept once although the reply was lost', async () => {
  const { store, dispose } = await open((connection) => ({
    script: async (...call) => {
      await connection.script(...call);
      return await connection.script(...call);
    },
  }));
  await store.jobs.take('t', 'j', 'a', 9_000);
  expect(await store.jobs.report('t', 'j', 'a', { n: 1 })).toEqual({ seq: 1, isFollowed: false });
  expect(await store.jobs.report('t', 'j', 'a', { n: 2 })).toEqual({ seq: 2, isFollowed: false });
  await store.jobs.release('t', 'j', 'a');
  expect(await store.jobs.take('t', 'j', 'b', 9_000)).toMatchObject({
    attempt: 2,
    deaths: 0,
    lastProgress: { n: 2 },
  });
  expect((await store.jobs.follow('t', 'j', 0)).progress).toHaveLength(2);
  await dispose();
});
