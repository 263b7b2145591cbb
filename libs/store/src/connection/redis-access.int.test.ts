import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connectRedisStore } from '../redis-store.ts';
import { connectRedis } from './redis-connection.ts';
import { type RunningRedis, redisKinds } from './redis-kinds.fixture.ts';

let redis: RunningRedis;
let url: string;
beforeAll(async () => {
  const kind = redisKinds.find(({ name }) => name.startsWith('one server with TLS'));
  redis = (await kind?.start()) ?? expect.fail();
  url = redis.options.url;
});
afterAll(() => redis[Symbol.asyncDispose]());

describe('TLS', () => {
  const refused = (options: Parameters<typeof connectRedis>[0]) =>
    connectRedis(options).then(
      () => expect.fail('it connected'),
      (error: unknown) => error,
    );

  test('is refused when no authority, or the wrong one, vouches for the server', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'agentmesh-stranger-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const stranger = makeCertificate(dir).certFile;
    for (const caFile of [undefined, stranger]) {
      const error = await refused({ url, caFile });
      expect(error).toMatchObject({ code: 'unavailable', message: expect.stringMatching(/certificate/) });
    }
  });

  test('is refused for a name that the certificate does not have', async () => {
    const error = await refused({ ...redis.options, url: url.replace('localhost', '127.0.0.2') });
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringMatching(/127\.0\.0\.2/) });
  });

  test('needs an existing file, and a url with TLS', async () => {
    expect(await refused({ url, caFile: '/nowhere/ca.pem' })).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('/nowhere/ca.pem'),
    });
    const { caFile } = redis.options;
    expect(await refused({ url: redis.admin.url, caFile })).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('rediss'),
    });
  });

  test('fails in time when the server has no TLS', async () => {
    const plain = redis.admin.url.replace('redis:', 'rediss:');
    expect(await refused({ ...redis.options, url: plain })).toMatchObject({ code: 'unavailable' });
  });
});

describe('the user of the mesh', () => {
  test('touches no key of others', async () => {
    await using store = await connectRedisStore({ ...redis.options, prefix: 'other' });
    const session = store.sessions.createSession({ appName: 'shop', userId: 'ann' });
    await expect(session).rejects.toMatchObject({ code: 'permission_denied' });
  });

  test.each(
    [
      ['FLUSHALL'],
      ['FLUSHDB'],
      ['KEYS', 'am:*'],
      ['SCAN', '0'],
      ['RANDOMKEY'],
      ['DBSIZE'],
      ['CONFIG', 'GET', '*'],
      ['CONFIG', 'SET', 'dir', '/'],
      ['ACL', 'LIST'],
      ['CLIENT', 'LIST'],
      ['CLIENT', 'KILL', 'TYPE', 'normal'],
      ['CLUSTER', 'NODES'],
      ['REPLICAOF', 'NO', 'ONE'],
      ['SHUTDOWN'],
      ['MODULE', 'LIST'],
      ['SCRIPT', 'FLUSH'],
      ['MONITOR'],
      ['PUBLISH', 'c', 'm'],
      ['RENAME', 'am:a', 'am:b'],
      ['GET', 'other'],
      ['EVAL', "return redis.call('GET', 'other')", '0'],
      ['EVAL', "return redis.call('FLUSHALL')", '0'],
    ].map((command) => [command.join(' '), command] as const),
  )('may not %s', async (_text, [command = '', ...args]) => {
    const connection = await connectRedis(redis.options);
    onTestFinished(() => connection[Symbol.asyncDispose]());
    const done = connection.run((client) => client.call(command, args));
    await expect(done).rejects.toMatchObject({ code: 'permission_denied' });
  });
});
