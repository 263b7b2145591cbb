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
  /** Returns all keys, without the prefix. */
  const remainingKeys = async () =>
    (await admin.keys(`${prefix}:*`)).map((key) => key.slice(prefix.length + 1)).sort();
  return { ...store, keys: keysOf(prefix), remainingKeys };
}

type Store = Awaited<ReturnType<typeof connect>>;

/** Creates everything that a session can have. */
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
  // The sign-in of a question that was not committed, as the process died.
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

/** The ends of the runs of the session, which a deletion leaves for some minutes. */
const ends = ['{shop:ann}:index', '{shop:ann}:invocation:e-1', '{shop:ann}:invocation:e-waits'];

test('the deletion of a session leaves its waiting runs, and the ends of its runs, for some minutes', async () => {
  const store = await connect();
  await use(store);
  const { sessions, remainingKeys, keys } = store;
  const before = await remainingKeys();
  expect(before).toContain('asking:adk-2');
  expect(before).toContain('secret:{shop:ann}:sign-in:sess:lost-credential-1');
  expect(before).toContain('{shop:ann}:invocation:e-silent');
  await sessions.deleteSession(ref);
  expect(await remainingKeys()).toEqual([
    ...ends,
    '{shop:ann}:queued',
    '{shop:ann}:session:sess:waiting',
    '{shop:ann}:session:sess:waiting-runs',
    '{shop}:busy-sessions',
  ]);
  for (const key of [keys.waiting(ref), keys.waitingRuns(ref), keys.invocation('shop', 'ann', 'e-1')]) {
    const ttl = await admin.pttl(key);
    expect(ttl).toBeGreaterThan(0);
    expect(ttl).toBeLessThanOrEqual(600_000);
  }
  const fields = await admin.hkeys(keys.invocation('shop', 'ann', 'e-1'));
  expect(fields).toEqual(['end']);
  await sessions.users.forgetQueue(ref);
  await sessions.users.deleteRest(ref);
  expect(await remainingKeys()).toEqual([]);
});

test('calls with a deadline are not found any more', async () => {
  const { sessions, remainingKeys, keys } = await connect();
  const session = await sessions.createSession(ref);
  await sessions.pending.list(ref);
  const pending = sessions.pending as unknown as {
    before(of: typeof ref, changes: { opened: object[]; closed: [] }): Promise<void>;
  };
  // The note of a commit that never came.
  await pending.before(ref, {
    opened: [{ id: 'c', deadline: Date.now() + 9_000, service: 'a' }],
    closed: [],
  });
  expect(await admin.zcard(keys.deadlines('a'))).toBe(1);
  await sessions.deleteSession({ ...ref, sessionId: session.id });
  expect(await remainingKeys()).toEqual([]);
});

test.each([0, 1, 2])('a deletion that was interrupted at page %i is finished by a second one', async (at) => {
  const store = await connect();
  await use(store);
  const { sessions, remainingKeys } = store;
  let pages = 0;
  const options: DeleteSessionOptions = {
    async onEvents() {
      pages += 1;
      if (pages > at) throw new Error('died');
    },
  };
  await expect(sessions.deleteSession(ref, options)).rejects.toThrow('died');
  // All others find the session gone, and its id is not free.
  expect(await sessions.getSession(ref)).toBeUndefined();
  expect((await sessions.listSessions(ref)).sessions).toEqual([]);
  await expect(sessions.createSession(ref)).rejects.toMatchObject({ code: 'already_exists' });
  const late = { ...ref, invocationId: 'e-late' };
  expect(await sessions.leases.take(late, { run: '', whenBusy: 'reject' })).toMatchObject({ state: 'gone' });
  expect(await sessions.users.sessionIds(ref)).toContain('sess');
  await sessions.deleteSession(ref);
  await sessions.users.forgetQueue(ref);
  expect(await remainingKeys()).toEqual(ends);
});

test('a long log is read in pages', async () => {
  const { sessions, remainingKeys } = await connect();
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
  expect(await remainingKeys()).toEqual([]);
});

test('all other data of a user is found after the sessions are gone', async () => {
  const store = await connect();
  const { sessions, credentials, credentialRecords, remainingKeys } = store;
  await use(store);
  await sessions.createSession({ ...ref, sessionId: 'other', state: { 'user:u': 1, 'app:a': 1 } });
  const config = {
    credentialKey: 'k',
    authScheme: { type: 'apiKey' },
    exchangedAuthCredential: { authType: 'apiKey', apiKey: 'SECRET' },
  } as const;
  await credentials?.credentialService.saveCredential(config, ref);
  const prefix = (await remainingKeys()).filter((key) => /:session:/.test(key));
  await admin.del(...prefix.map((key) => `${store.keys.app('x').split(':')[0]}:${key}`));
  for (const sessionId of await sessions.users.sessionIds(ref)) {
    await sessions.deleteSession({ ...ref, sessionId });
    await sessions.users.forgetQueue({ ...ref, sessionId });
  }
  await sessions.users.deleteRest(ref);
  expect(await credentialRecords.deleteCredentials(ref)).toBe(1);
  expect(await remainingKeys()).toEqual(['{shop}:app']);
  // The value belongs to the app; its writer is no longer named.
  expect(await admin.hget(store.keys.app('shop'), 'a')).toMatch(/^\S+ - 1$/);
});

test('a credential from before the list of credentials is added to the list when it is used', async () => {
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
