import { randomUUID } from 'node:crypto';
import type { Session, SessionService } from '@agentmesh/agent';
import type { InvocationRef } from '@agentmesh/agent/internal';
import { type Event, keys } from '@agentmesh/protocol';
import { type Server, startRedis } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connectRedis, type RedisConnection } from '../connection/redis-connection.ts';
import { connectRedisStore, type RedisStore, type RedisStoreOptions } from '../redis-store.ts';
import { appState } from './app-state.ts';
import { RedisSessionService } from './redis-session-service.ts';

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

const appName = 'shop';
const userId = 'ann';
const ref = { appName, userId, sessionId: 's' };

function eventOf(id: string, stateDelta: Record<string, unknown> = {}): Event {
  const actions = { stateDelta, artifactDelta: {}, requestedAuthConfigs: {}, requestedToolConfirmations: {} };
  return { id, invocationId: 'inv-1', author: 'helper', timestamp: Date.now(), actions };
}

/** Takes the session, which must be free. */
async function take(service: SessionService, invocation: InvocationRef): Promise<number> {
  const taken = await service.leases.take(invocation, { run: 'a run', whenBusy: 'enqueue' });
  if (taken.state !== 'held') throw new Error(`the session is ${taken.state}`);
  return taken.token;
}

describe('RedisSessionService', () => {
  let prefix: string;
  beforeEach(() => {
    prefix = randomUUID();
  });

  async function connect(options: Partial<RedisStoreOptions> = {}): Promise<RedisStore> {
    const store = await connectRedisStore({ url: server.url, prefix, ...options });
    onTestFinished(() => store[Symbol.asyncDispose]());
    return store;
  }

  /** Makes a service of a process that dies between a commit and the second step. */
  async function dying(): Promise<RedisSessionService> {
    const connection = await connectRedis({ url: server.url });
    onTestFinished(() => connection[Symbol.asyncDispose]());
    const ours = keys(prefix);
    const applyOutbox = async (_app: string, _user: string, outbox: unknown[]) => {
      if (outbox.length > 0) throw new Error('died');
    };
    const app = { ...appState(connection, ours), applyOutbox };
    return new RedisSessionService({
      connection,
      keys: ours,
      app,
      invocationTtlMs: { running: 1e6, ended: 1e5 },
    });
  }

  const commitAndDie = async (session: Session, event: Event) =>
    await expect((await dying()).appendEvent({ session: structuredClone(session), event })).rejects.toThrow(
      'died',
    );

  const ourKeys = () => admin.keys(`${prefix}:*`);

  test('serves two processes at once', async () => {
    const stores = [await connect(), await connect()];
    await stores[0]?.sessions.createSession(ref);
    const appends = stores.flatMap(({ sessions }, at) =>
      Array.from({ length: 50 }, async (_, n) => {
        const session = (await sessions.getSession(ref)) ?? expect.fail();
        await sessions.appendEvent({
          session,
          event: eventOf(`${at}-${n}`, { 'app:n': n, [`k${at}-${n}`]: n }),
        });
      }),
    );
    await Promise.all(appends);
    const session = await stores[1]?.sessions.getSession(ref);
    expect(session?.seq).toBe(100);
    expect(new Set(session?.events.map(({ id }) => id)).size).toBe(100);
    expect(Object.keys(session?.state ?? {})).toHaveLength(101);
    expect(await ourKeys()).not.toContain(keys(prefix).appOutbox(appName, userId));
  });

  test('leaves no key of a deleted session', async () => {
    const { sessions } = await connect();
    for (const [at, id] of ['s', 't'].entries()) {
      const session = await sessions.createSession({
        ...ref,
        sessionId: id,
        state: { a: 1 },
        hidden: at === 1,
      });
      for (let n = 0; n < 3; n += 1) {
        const event = { ...eventOf(`${id}${n}`, { 'temp:t': 1, n }), invocationId: `${id}-inv-${n}` };
        await sessions.appendEvent({ session, event });
        await sessions.invocations.countLlmCall({ ...ref, sessionId: id, invocationId: event.invocationId });
      }
      await sessions.invocations.end(
        { ...ref, sessionId: id, invocationId: `${id}-inv-1` },
        { status: 'completed' },
      );
    }
    expect((await ourKeys()).length).toBeGreaterThan(10);
    await sessions.deleteSession(ref);
    await sessions.deleteSession({ ...ref, sessionId: 't' });
    expect(await ourKeys()).toEqual([]);
  });

  test('leaves nothing behind when it refuses', async () => {
    const { sessions } = await connect();
    const session = await sessions.createSession(ref);
    await sessions.deleteSession(ref);
    const event = eventOf('e', { a: 1, 'user:a': 1, 'app:a': 1, 'temp:a': 1 });
    await expect(sessions.appendEvent({ session, event })).rejects.toMatchObject({ code: 'not_found' });
    await sessions.invocations.get({ ...ref, invocationId: 'inv-1' });
    await sessions.getSession(ref);
    expect(await ourKeys()).toEqual([]);
  });

  test('keeps user and app state over the last session', async () => {
    const { sessions } = await connect();
    await sessions.createSession({ ...ref, state: { 'user:a': 1, 'app:a': 1 } });
    await sessions.deleteSession(ref);
    expect((await ourKeys()).sort()).toEqual(
      [keys(prefix).app(appName), keys(prefix).user(appName, userId)].sort(),
    );
  });

  test.each<[string, (store: RedisStore) => Promise<unknown>]>([
    ['reading', (store) => store.sessions.getSession(ref)],
    ['listing', (store) => store.sessions.listSessions(ref)],
    ['creating', (store) => store.sessions.createSession({ ...ref, sessionId: 'other' })],
    ['a sweep', (store) => store.sweep(ref)],
  ])('heals by %s what a process left between commit and app: state', async (_what, heal) => {
    const store = await connect();
    const session = await store.sessions.createSession(ref);
    await commitAndDie(session, eventOf('e', { 'app:a': 1, own: 1 }));
    const stranger = await store.sessions.createSession({ appName, userId: 'bob' });
    expect(stranger.state).toEqual({});
    await heal(store);
    expect(
      (await store.sessions.getSession({ ...ref, userId: 'bob', sessionId: stranger.id }))?.state,
    ).toEqual({ 'app:a': 1 });
    expect(await ourKeys()).not.toContain(keys(prefix).appOutbox(appName, userId));
  });

  test('is repaired by a repetition of the commit, which changes nothing else', async () => {
    const { sessions } = await connect();
    const session = await sessions.createSession(ref);
    const event = eventOf('e', { 'app:a': 1, own: 1 });
    await commitAndDie(session, event);
    await sessions.appendEvent({ session, event });
    expect(session).toMatchObject({ seq: 1, state: { 'app:a': 1, own: 1 } });
    expect(await sessions.getSession(ref)).toEqual(session);
  });

  test('does not let an old outbox entry win over a later commit', async () => {
    const { sessions, sweep } = await connect();
    const session = await sessions.createSession(ref);
    const other = await sessions.createSession({ appName, userId: 'bob' });
    await commitAndDie(session, eventOf('early', { 'app:both': 'early', 'app:only': 'early' }));
    await sessions.appendEvent({ session: other, event: eventOf('late', { 'app:both': 'late' }) });
    await sweep(ref);
    expect((await sessions.getSession(ref))?.state).toEqual({ 'app:both': 'late', 'app:only': 'early' });
  });

  test('does everything once although every first reply is lost', async () => {
    const connection = await connectRedis({ url: server.url });
    onTestFinished(() => connection[Symbol.asyncDispose]());
    const twice: RedisConnection = {
      ...connection,
      script: async (...call) => {
        await connection.script(...call);
        return await connection.script(...call);
      },
    };
    const ours = keys(prefix);
    const invocationTtlMs = { running: 1e6, ended: 1e5 };
    const service = new RedisSessionService({
      connection: twice,
      keys: ours,
      app: appState(twice, ours),
      invocationTtlMs,
    });
    const session = await service.createSession({ ...ref, state: { a: 1, 'app:a': 1 } });
    const invocation = { ...ref, invocationId: 'inv-1' };
    const delivery = { part: 'hop:0', message: 'm' };
    const options = { run: '', whenBusy: 'enqueue', delivery, onlyNew: true } as const;
    const taken = await service.leases.take(invocation, options);
    expect(taken).toMatchObject({ state: 'held', token: 1, begun: 1, attempt: 1 });
    expect(await take(service, invocation)).toBe(2);
    const calls = { uncounted: 1, counted: 0 };
    const committed = await service.appendEvent({
      session,
      event: eventOf('e', { b: 1, 'app:b': 1, 'temp:t': 1 }),
      token: 2,
      calls,
    });
    expect(calls).toEqual({ uncounted: 0, counted: 1 });
    expect(session).toMatchObject({
      seq: 1,
      events: [committed],
      state: { a: 1, b: 1, 'app:b': 1, 'temp:t': 1 },
    });
    expect(await service.getSession(ref)).toMatchObject({
      seq: 1,
      state: { a: 1, b: 1, 'app:a': 1, 'app:b': 1 },
    });
    const ended = await service.invocations.end(invocation, { status: 'completed' }, 2);
    const found = { lastSeq: 1, isIdle: true };
    const counts = { llmCalls: 1, tokens: 0 };
    expect(ended).toEqual({ status: 'completed', home: 's', temp: { 'temp:t': 1 }, ...counts, ...found });
    await service.deleteSession(ref);
    expect(await service.getSession(ref)).toBeUndefined();
  });

  test("orders a user's writes although the server's clock stepped back", async () => {
    const { sessions } = await connect();
    const session = await sessions.createSession(ref);
    const future = `${Date.now() + 60_000}000-5`;
    await admin.xadd(keys(prefix).appOutbox(appName, userId), future, 'a', '"before"');
    await sessions.appendEvent({ session, event: eventOf('e', { 'app:a': 'after' }) });
    expect((await sessions.getSession(ref))?.state).toEqual({ 'app:a': 'after' });
  });

  test('lets the record of an invocation expire, and sooner after its end', async () => {
    const { sessions } = await connect({ invocationTtlMs: { running: 50_000, ended: 5_000 } });
    const session = await sessions.createSession(ref);
    const invocation = { ...ref, invocationId: 'inv-1' };
    const ttl = () => admin.pttl(keys(prefix).invocation(appName, userId, 'inv-1'));
    await sessions.appendEvent({ session, event: eventOf('e') });
    expect(await ttl()).toBeGreaterThan(5_000);
    await sessions.invocations.end(invocation, { status: 'completed' });
    expect(await ttl()).toBeLessThanOrEqual(5_000);
    await sessions.invocations.countLlmCall(invocation);
    expect(await ttl()).toBeLessThanOrEqual(5_000);
    expect(await ttl()).toBeGreaterThan(0);
  });

  test('keeps the record of an invocation that may be continued as long as that of a running one', async () => {
    const { sessions } = await connect({ invocationTtlMs: { running: 50_000, ended: 5_000 } });
    await sessions.createSession(ref);
    const invocation = { ...ref, invocationId: 'inv-1' };
    const ttl = () => admin.pttl(keys(prefix).invocation(appName, userId, 'inv-1'));
    await sessions.invocations.end(invocation, { status: 'completed', waits: true });
    expect(await ttl()).toBeGreaterThan(5_000);
    const again = { ...invocation, resume: 'r1' };
    await sessions.leases.take(again, { run: '', whenBusy: 'reject' });
    expect(await ttl()).toBeGreaterThan(5_000);
    await sessions.invocations.end(again, { status: 'completed' });
    expect(await ttl()).toBeLessThanOrEqual(5_000);
  });

  test('keeps the token in the record, which expires with all in it', async () => {
    const { sessions } = await connect({ invocationTtlMs: { running: 50_000, ended: 5_000 } });
    await sessions.createSession(ref);
    await take(sessions, { ...ref, invocationId: 'inv-1' });
    const record = keys(prefix).invocation(appName, userId, 'inv-1');
    expect(await admin.hget(record, 'token')).toBe('1');
    expect(await admin.pttl(record)).toBeGreaterThan(5_000);
    expect(await admin.pttl(record)).toBeLessThanOrEqual(50_000);
  });

  test('keeps all of a waiting run for longer than the record of a running one', async () => {
    const { sessions } = await connect({ invocationTtlMs: { running: 50_000, ended: 5_000 } });
    await sessions.createSession(ref);
    await take(sessions, { ...ref, invocationId: 'inv-1' });
    const options = { run: 'a run', whenBusy: 'enqueue', limits: { running: 1 } } as const;
    for (const invocationId of ['inv-2', 'inv-1'])
      await sessions.leases.take({ ...ref, invocationId }, options);
    const { invocation, waiting, waitingRuns, queued } = keys(prefix);
    const kept = [
      invocation(appName, userId, 'inv-2'),
      waiting(ref),
      waitingRuns(ref),
      queued(appName, userId),
    ];
    for (const key of kept) expect(await admin.pttl(key), key).toBeGreaterThan(300_000);
  });

  test('does not let a refused call prolong the record', async () => {
    const { sessions } = await connect();
    const session = await sessions.createSession(ref);
    const invocation = { ...ref, invocationId: 'inv-1' };
    const record = keys(prefix).invocation(appName, userId, 'inv-1');
    for (let n = 0; n < 2; n += 1) await take(sessions, invocation);
    const before = await admin.hgetall(record);
    await admin.pexpire(record, 10_000);
    const refused = { code: 'aborted' };
    await expect(
      sessions.appendEvent({ session, event: eventOf('e', { 'app:a': 1 }), token: 1 }),
    ).rejects.toMatchObject(refused);
    await expect(sessions.invocations.countLlmCall(invocation, 1)).rejects.toMatchObject(refused);
    await expect(sessions.invocations.end(invocation, { status: 'failed' }, 1)).rejects.toMatchObject(
      refused,
    );
    expect(await admin.hgetall(record)).toEqual(before);
    expect(await admin.pttl(record)).toBeLessThanOrEqual(10_000);
    expect(await ourKeys()).not.toContain(keys(prefix).appOutbox(appName, userId));
  });

  test('stores an event once, with little overhead', async () => {
    const { sessions } = await connect();
    const session = await sessions.createSession(ref);
    const text = 'x'.repeat(10_000);
    const event = { ...eventOf('e'), content: { role: 'user', parts: [{ text }] } };
    await sessions.appendEvent({ session, event });
    const sizes = await Promise.all((await ourKeys()).map((key) => admin.memory('USAGE', key)));
    expect(sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0)).toBeLessThan(15_000);
  });

  test('continues when the server has lost the scripts', async () => {
    const { sessions } = await connect();
    const session = await sessions.createSession(ref);
    await admin.script('FLUSH');
    await sessions.appendEvent({ session, event: eventOf('e') });
    expect(session.seq).toBe(1);
  });

  test('reports a key of a wrong kind as a defect', async () => {
    const { sessions } = await connect();
    await admin.set(keys(prefix).session(ref), 'not a hash');
    const read = sessions.getSession(ref);
    await expect(read).rejects.toMatchObject({
      name: 'MeshError',
      code: 'internal',
      cause: { name: 'ReplyError' },
    });
  });
});
