import { randomUUID } from 'node:crypto';
import { createEvent, createEventActions } from '@agentmesh/agent';
import type { DeleteSessionOptions } from '@agentmesh/agent/internal';
import { createSecretBox, keys as keysOf, newCredentialKeys } from '@agentmesh/protocol';
import { type Server, startRedis } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
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

const ref = { appName: 'shop', userId: 'ann', sessionId: 'sess' };

async function connect() {
  const prefix = randomUUID();
  const box = createSecretBox(newCredentialKeys());
  const store = await connectRedisStore({ url: server.url, prefix, box });
  onTestFinished(() => store[Symbol.asyncDispose]());
  /** Every key, without the prefix. */
  const left = async () =>
    (await admin.keys(`${prefix}:*`)).map((key) => key.slice(prefix.length + 1)).sort();
  return { ...store, keys: keysOf(prefix), left };
}

type Store = Awaited<ReturnType<typeof connect>>;

/** Uses all that a session can have. */
async function use({ sessions, credentials }: Store): Promise<void> {
  const token = async (invocationId: string) => {
    const taken = await sessions.leases.take({ ...ref, invocationId }, { run: 'r', whenBusy: 'enqueue' });
    return taken.state === 'held' ? taken.token : undefined;
  };
  const session = await sessions.createSession({ ...ref, state: { own: 1 } });
  const ids = { invocationId: 'e-1', author: 'helper' };
  const held = await token('e-1');
  const call = (id: string, name: string, args = {}) => ({ functionCall: { id, name, args } });
  const calls = createEvent({
    ...ids,
    content: {
      role: 'model',
      parts: [call('adk-1', 'child'), call('adk-2', 'approve'), call('adk-3-credential-1', 'ask')],
    },
    longRunningToolIds: ['adk-2', 'adk-3-credential-1'],
    actions: createEventActions({ stateDelta: { own: 2, 'temp:t': 1 } }),
    customMetadata: { replica: 'agent_helper/1', deadlines: {} },
  });
  await credentials?.signInService.open(
    { ...ref, questionId: 'adk-3-credential-1' },
    { authConfig: { credentialKey: 'k', authScheme: { type: 'apiKey' } } },
  );
  // Of a question that was never put, as the process died.
  await credentials?.signInService.open(
    { ...ref, questionId: 'lost-credential-1' },
    { authConfig: { credentialKey: 'k', authScheme: { type: 'apiKey' } } },
  );
  await sessions.appendEvent({ session, event: calls, ...(held && { token: held }) });
  await sessions.pending.accept({ ...ref, callId: 'adk-2' }, { key: 'm', digest: 'd', callers: [] });
  const child = await sessions.createSession({ ...ref, sessionId: 'adk-1', hidden: true });
  await sessions.appendEvent({ session: child, event: createEvent(ids) });
  await sessions.invocations.beginAttempt({ ...ref, invocationId: 'e-silent' }, 'part');
  await token('e-waits');
}

test('the deletion of a session leaves nothing but who is to be told of it, for minutes', async () => {
  const store = await connect();
  await use(store);
  const { sessions, left, keys } = store;
  const before = await left();
  expect(before).toContain('asking:adk-2');
  expect(before).toContain('{shop:ann}:session:sess:sign-in:lost-credential-1');
  expect(before).toContain('{shop:ann}:invocation:e-silent');
  await sessions.deleteSession(ref);
  expect(await left()).toEqual([
    'waiting-sessions',
    '{shop:ann}:session:sess:waiting',
    '{shop:ann}:session:sess:waiting-runs',
  ]);
  expect(await admin.pttl(keys.waiting(ref))).toBeLessThanOrEqual(600_000);
  expect(await admin.pttl(keys.waitingRuns(ref))).toBeLessThanOrEqual(600_000);
  await sessions.users.forgetQueue(ref);
  expect(await left()).toEqual([]);
});

test('calls with a deadline are not looked at any more', async () => {
  const { sessions, left, keys } = await connect();
  const session = await sessions.createSession(ref);
  await sessions.pending.list(ref);
  const pending = sessions.pending as unknown as {
    before(of: typeof ref, changes: { opened: object[]; closed: [] }): Promise<void>;
  };
  // As of a commit that never came.
  await pending.before(ref, {
    opened: [{ id: 'c', deadline: Date.now() + 9_000, service: 'a' }],
    closed: [],
  });
  expect(await admin.zcard(keys.deadlines('a'))).toBe(1);
  await sessions.deleteSession({ ...ref, sessionId: session.id });
  expect(await left()).toEqual([]);
});

test.each([0, 1, 2])('a deletion that was cut short at page %i is finished by another', async (at) => {
  const store = await connect();
  await use(store);
  const { sessions, left } = store;
  let pages = 0;
  const options: DeleteSessionOptions = {
    async onEvents() {
      pages += 1;
      if (pages > at) throw new Error('died');
    },
  };
  await expect(sessions.deleteSession(ref, options)).rejects.toThrow('died');
  // For all others it is gone, and its name is not free.
  expect(await sessions.getSession(ref)).toBeUndefined();
  expect((await sessions.listSessions(ref)).sessions).toEqual([]);
  await expect(sessions.createSession(ref)).rejects.toMatchObject({ code: 'already_exists' });
  const late = { ...ref, invocationId: 'e-late' };
  expect(await sessions.leases.take(late, { run: '', whenBusy: 'reject' })).toMatchObject({ state: 'gone' });
  expect(await sessions.users.sessionIds(ref)).toContain('sess');
  await sessions.deleteSession(ref);
  await sessions.users.forgetQueue(ref);
  expect(await left()).toEqual([]);
});

test('a long log is looked through in pages', async () => {
  const { sessions, left } = await connect();
  const events = Array.from({ length: 950 }, (_, n) =>
    createEvent({
      invocationId: `e-${n}`,
      author: 'helper',
      content: { role: 'model', parts: [{ functionCall: { id: `c-${n}`, name: 'tool', args: {} } }] },
    }),
  );
  await sessions.createSession(ref);
  await sessions.log.appendHistory(ref, { afterSeq: 0, events });
  const pages: number[] = [];
  await sessions.deleteSession(ref, { onEvents: async (_ref, page) => void pages.push(page.length) });
  expect(pages).toEqual([200, 200, 200, 200, 150, 0]);
  expect(await left()).toEqual([]);
});

test('of a user whose sessions have gone before, all else is found', async () => {
  const store = await connect();
  const { sessions, credentials, credentialRecords, left } = store;
  await use(store);
  await sessions.createSession({ ...ref, sessionId: 'other', state: { 'user:u': 1, 'app:a': 1 } });
  const config = {
    credentialKey: 'k',
    authScheme: { type: 'apiKey' },
    exchangedAuthCredential: { authType: 'apiKey', apiKey: 'SECRET' },
  } as const;
  await credentials?.credentialService.saveCredential(config, ref);
  const prefix = (await left()).filter((key) => /:session:(?!.*sign-in)/.test(key));
  await admin.del(...prefix.map((key) => `${store.keys.app('x').split(':')[0]}:${key}`));
  for (const sessionId of await sessions.users.sessionIds(ref)) {
    await sessions.deleteSession({ ...ref, sessionId });
    await sessions.users.forgetQueue({ ...ref, sessionId });
  }
  await sessions.users.deleteRest(ref);
  expect(await credentialRecords.deleteCredentials(ref)).toBe(1);
  expect(await left()).toEqual(['{shop}:app']);
  // The value is the app's; who wrote it is not told any more.
  expect(await admin.hget(store.keys.app('shop'), 'a')).toMatch(/^\S+ - 1$/);
});

test('a credential that was kept before there was a list of them stands in it once it is used', async () => {
  const { credentials, credentialRecords, keys } = await connect();
  const config = {
    credentialKey: 'k',
    authScheme: { type: 'apiKey' },
    exchangedAuthCredential: { authType: 'apiKey', apiKey: 'SECRET' },
  } as const;
  await credentials?.credentialService.saveCredential(config, ref);
  await admin.del(keys.credentials('shop', 'ann'));
  expect(await credentialRecords.listCredentials(ref)).toEqual([]);
  await credentials?.credentialService.loadCredential(config, ref);
  expect(await credentialRecords.listCredentials(ref)).toEqual([{ credentialKey: 'k', authType: 'apiKey' }]);
});
