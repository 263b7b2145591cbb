import { randomUUID } from 'node:crypto';
import type { AuthConfig } from '@agentmesh/agent';
import { createSecretBox, keys as keysOf, newCredentialKeys } from '@agentmesh/protocol';
import { type Server, startRedis } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectRedisStore } from '../redis-store.ts';

let server: Server;
let admin: Redis;
beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

const first = newCredentialKeys('first');

async function open(prefix: string, keys = first) {
  const store = await connectRedisStore({ url: server.url, prefix, box: createSecretBox(keys) });
  const { credentials } = store;
  if (!credentials) throw new Error('the store keeps no credentials');
  return {
    credentials: credentials.credentialService,
    signIns: credentials.signInService,
    dispose: async () => await store[Symbol.asyncDispose](),
  };
}

const config: AuthConfig = {
  credentialKey: 'k',
  authScheme: { type: 'apiKey' },
  exchangedAuthCredential: { authType: 'apiKey', apiKey: 'SECRET' },
};
const ann = { appName: 'app', userId: 'ann' };
const bob = { appName: 'app', userId: 'bob' };

test('a credential that an earlier version sealed counts as none, and is replaced by the next one', async () => {
  const prefix = randomUUID();
  const { credentials, dispose } = await open(prefix);
  await admin.set(keysOf(prefix).credential('app', 'ann', 'k'), 'a256gcm.first.AAAA');
  expect(await credentials.loadCredential(config, ann)).toBeUndefined();
  await credentials.saveCredential(config, ann);
  expect(await credentials.loadCredential(config, ann)).toEqual(config.exchangedAuthCredential);
  await dispose();
});

test('Redis holds no secret in plain text, and a value that was copied to another user is refused', async () => {
  const prefix = randomUUID();
  const { credentials, signIns, dispose } = await open(prefix);
  await credentials.saveCredential(config, ann);
  const ref = { ...ann, sessionId: 's', questionId: 'q-credential-1' };
  await signIns.open(ref, { authConfig: config, codeVerifier: 'SECRET' });
  await signIns.answer(ref, { authType: 'apiKey', apiKey: 'SECRET' }, 'k');
  const keys = keysOf(prefix);
  const kept = [
    await admin.get(keys.credential('app', 'ann', 'k')),
    await admin.hgetall(keys.signIn(ref, ref.questionId)),
  ];
  const byFirst = btoa('{"alg":"dir","enc":"A256GCM","kid":"first"');
  expect(JSON.stringify(kept).split(byFirst)).toHaveLength(4);
  expect(JSON.stringify(kept)).not.toContain('SECRET');
  expect(await admin.pttl(keys.signIn(ref, ref.questionId))).toBeGreaterThan(86_000_000);
  await admin.set(keys.credential('app', 'bob', 'k'), String(kept[0]));
  await expect(credentials.loadCredential(config, bob)).rejects.toMatchObject({ code: 'permission_denied' });
  const answer = (await admin.hget(keys.signIn(ref, ref.questionId), 'answer')) ?? '';
  await admin.hset(keys.signIn(ref, ref.questionId), 'sign-in', answer);
  await expect(signIns.find(ref)).rejects.toMatchObject({ code: 'permission_denied' });
  await dispose();
});

test('keys rotate: the new one seals, the old one still opens', async () => {
  const prefix = randomUUID();
  const before = await open(prefix);
  await before.credentials.saveCredential(config, ann);
  const both = await open(prefix, `${newCredentialKeys('second')},${first}`);
  expect(await both.credentials.loadCredential(config, ann)).toEqual(config.exchangedAuthCredential);
  await both.credentials.saveCredential(config, ann);
  await expect(before.credentials.loadCredential(config, ann)).rejects.toThrow('key second');
  await Promise.all([before.dispose(), both.dispose()]);
});
