import { randomUUID } from 'node:crypto';
import { createEvent, forkSession, importSession, rewindSession, type Session } from '@agentmesh/agent';
import { logIndex, SessionCache, unreadBefore } from '@agentmesh/agent/internal';
import { keys as keysOf } from '@agentmesh/protocol';
import { type Server, startRedis, until } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { connectRedisStore } from '../redis-store.ts';
import type { Retention } from './scripts/retention.ts';

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

const ref = { appName: 'shop', userId: 'ann', sessionId: 's' };

/**
 * Connects a store that keeps sessions of the shop app by `retention`, and those of all other apps for ever.
 */
async function connect(retention: Retention) {
  const prefix = randomUUID();
  const ofApp = (app: string) => (app === 'shop' ? retention : {});
  const store = await connectRedisStore({ url: server.url, prefix, retention: ofApp });
  onTestFinished(() => store[Symbol.asyncDispose]());
  return { sessions: store.sessions, keys: keysOf(prefix), prefix };
}

const said = (n: number, stateDelta: Record<string, unknown> = {}) =>
  createEvent({ invocationId: `e-${n}`, author: 'helper', actions: { stateDelta } });

const asks = (id: string, invocationId: string) =>
  createEvent({
    invocationId,
    author: 'helper',
    content: { role: 'model', parts: [{ functionCall: { id, name: 'order', args: {} } }] },
    longRunningToolIds: [id],
  });

describe('a session with an end', () => {
  test('is deleted some time after its last event, with all that belongs to it', async () => {
    const { sessions, prefix } = await connect({ sessionTtlMs: 400 });
    const session = await sessions.createSession({ ...ref, state: { a: 1 } });
    const other = await sessions.createSession({ ...ref, appName: 'other' });
    await sessions.appendEvent({ session, event: asks('c1', 'e-1') });
    await sessions.appendEvent({ session: other, event: said(1) });
    const user = { appName: 'shop', userId: 'ann' };
    expect((await sessions.listSessions(user)).totalItems).toBe(1);
    await until(async () => (await sessions.getSession(ref)) === undefined);
    expect(await sessions.listSessions(user)).toMatchObject({ sessions: [], totalItems: 0 });
    expect(await sessions.pending.list(user)).toEqual([]);
    const left = (await admin.keys(`${prefix}:{shop:ann}:*`)).map((key) => key.split('}:')[1]?.split(':')[0]);
    expect(left.sort()).toEqual(['index', 'invocation']);
    expect(await sessions.getSession({ ...ref, appName: 'other' })).toBeDefined();
    await expect(sessions.appendEvent({ session, event: said(2) })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test('stays as long as it gets events', async () => {
    const { sessions, keys } = await connect({ sessionTtlMs: 60_000 });
    const session = await sessions.createSession(ref);
    await admin.pexpire(keys.session(ref), 1_000);
    await sessions.appendEvent({ session, event: said(1, { b: 1 }) });
    const all = [keys.session(ref), keys.events(ref), keys.state(ref)];
    const ends = await Promise.all(all.map((key) => admin.pexpiretime(key)));
    expect(new Set(ends).size).toBe(1);
    expect(await admin.pttl(keys.session(ref))).toBeGreaterThan(50_000);
  });

  test('is also kept for a time when it was imported', async () => {
    const { sessions, keys } = await connect({ sessionTtlMs: 60_000 });
    await sessions.createSession(ref);
    await sessions.log.appendHistory(ref, { afterSeq: 0, events: [said(1, { b: 1 })] });
    for (const key of [keys.session(ref), keys.events(ref), keys.state(ref)])
      expect(await admin.pttl(key)).toBeGreaterThan(50_000);
  });
});

describe('a copy', () => {
  const copyId = 'copy';
  const ofCopy = { ...ref, sessionId: copyId };
  const filled = async (retention: Retention) => {
    const { sessions, keys } = await connect(retention);
    await sessions.createSession(ref);
    const events = Array.from({ length: 450 }, (_, n) => said(n, { [`k${n}`]: 'x' }));
    await sessions.log.appendHistory(ref, { afterSeq: 0, events });
    const all = [keys.session(ofCopy), keys.events(ofCopy), keys.state(ofCopy)];
    const times = () => Promise.all(all.map((key) => admin.pttl(key)));
    const ends = () => admin.zcard(keys.sessionEnds(ref.appName, ref.userId));
    return { sessions, times, ends, sessionOf: keys.session };
  };

  test.each([undefined, 100_000])(
    'is kept as long as other sessions when it is complete: %s',
    async (ttl) => {
      const { sessions, times, ends } = await filled(ttl === undefined ? {} : { sessionTtlMs: ttl });
      expect((await forkSession(sessions, ref, { sessionId: copyId })).seq).toBe(450);
      if (ttl === undefined) expect([await times(), await ends()]).toEqual([[-1, -1, -1], 0]);
      else for (const time of await times()) expect(time).toBeGreaterThan(90_000);
    },
  );

  test.each(['before its first events', 'before its last events', 'within its deletion'])(
    'ends by itself when its process dies %s',
    async (moment) => {
      const { sessions, times, ends, sessionOf } = await filled({});
      const append = sessions.log.appendHistory.bind(sessions.log);
      vi.spyOn(sessions.log, 'appendHistory').mockImplementation(async (which, part) => {
        if (moment === 'before its first events' || !part.hasMore) throw new Error('the process dies');
        await append(which, part);
      });
      const remove = vi.spyOn(sessions, 'deleteSession').mockImplementation(async (which) => {
        if (moment !== 'within its deletion') throw new Error('the process dies');
        await admin.hdel(sessionOf(which), 'seq', 'updated');
        throw new Error('the process dies');
      });
      await expect(forkSession(sessions, ref, { sessionId: copyId })).rejects.toThrow('the process dies');
      expect(remove).toHaveBeenCalledTimes(1);
      const left = (await times()).filter((time) => time !== -2);
      expect(left).toHaveLength(moment === 'before its first events' ? 1 : 3);
      for (const time of left) expect(time > 3_500_000 && time <= 3_600_000).toBe(true);
      expect(await ends()).toBe(1);
    },
  );
});

describe('a session among others', () => {
  test('is listed as long as it exists, whatever the times of its events', async () => {
    const { sessions } = await connect({ sessionTtlMs: 86_400_000 });
    const old = createEvent({
      invocationId: 'e-1',
      author: 'helper',
      timestamp: Date.now() - 9 * 86_400_000,
    });
    await importSession(sessions, { ...ref, events: [old] });
    const session = (await sessions.getSession(ref)) ?? expect.fail();
    await sessions.appendEvent({ session, event: { ...old, id: 'again' } });
    expect((await sessions.listSessions({ appName: 'shop', userId: 'ann' })).totalItems).toBe(1);
  });

  test('of an agent that is used as a tool is kept for long, independent of its parent', async () => {
    const { sessions, keys } = await connect({ sessionTtlMs: 400 });
    const child = await sessions.createSession({ ...ref, sessionId: 'child', hidden: true });
    await sessions.appendEvent({ session: child, event: asks('c1', 'e-1') });
    for (const key of [keys.session, keys.events])
      expect(await admin.pttl(key({ ...ref, sessionId: 'child' }))).toBeGreaterThan(80 * 86_400_000);
  });
});

describe('a session of which only the last events are kept', () => {
  const talk = async (
    sessions: Awaited<ReturnType<typeof connect>>['sessions'],
    session: Session,
    count: number,
  ) => {
    for (let n = 1; n <= count; n += 1) await sessions.appendEvent({ session, event: said(n, { n }) });
  };

  test('keeps them with their numbers, and its state', async () => {
    const { sessions, keys } = await connect({ maxEvents: 50 });
    const session = await sessions.createSession(ref);
    await talk(sessions, session, 300);
    const read = (await sessions.getSession(ref)) ?? expect.fail();
    expect(read.seq).toBe(300);
    expect(read.state).toEqual({ n: 300 });
    expect(read.events.length).toBeGreaterThanOrEqual(50);
    expect(read.events.length).toBeLessThanOrEqual(56);
    expect(read.events.at(-1)?.invocationId).toBe('e-300');
    expect(read.events[0]?.invocationId).toBe(`e-${unreadBefore(read) + 1}`);
    expect(await admin.xlen(keys.events(ref))).toBe(read.events.length);
    const turn = await sessions.log.readTurn({ ...ref, invocationId: 'new' }, {});
    expect(turn?.firstSeq).toBe(unreadBefore(read) + 1);
    expect(turn?.session.events).toHaveLength(read.events.length);
    expect(await sessions.getSession({ ...ref, config: { numRecentEvents: 200 } })).toMatchObject({
      seq: 300,
    });
  });

  test('keeps all events that a pending call needs', async () => {
    const { sessions } = await connect({ maxEvents: 20 });
    const session = await sessions.createSession(ref);
    await talk(sessions, session, 10);
    await sessions.appendEvent({ session, event: asks('c1', 'asking') });
    await talk(sessions, session, 100);
    const { events } = (await sessions.getSession(ref)) ?? expect.fail();
    expect(events[0]?.invocationId).toBe('asking');
  });

  test('keeps the events that the present run needs, whoever commits beside it', async () => {
    const { sessions } = await connect({ maxEvents: 20 });
    const session = await sessions.createSession(ref);
    const run = { ...ref, invocationId: 'run' };
    const taken = await sessions.leases.take(run, { run: '', whenBusy: 'reject' });
    if (taken.state !== 'held') expect.fail('the session is not free');
    const step = () => createEvent({ invocationId: 'run', author: 'helper' });
    for (let n = 0; n < 60; n += 1)
      await sessions.appendEvent({ session, event: step(), token: taken.token });
    await sessions.appendEvent({ session, event: said(1) });
    const { events } = (await sessions.getSession(ref)) ?? expect.fail();
    expect(events).toHaveLength(61);
  });

  test('hides rewound events, also when their beginning is cut off later', async () => {
    const { sessions } = await connect({ maxEvents: 20 });
    const sessionCache = new SessionCache({ sessions });
    const session = await sessions.createSession(ref);
    const add = async (invocationId: string) =>
      await sessions.appendEvent({ session, event: createEvent({ invocationId, author: 'helper' }) });
    for (let n = 1; n <= 60; n += 1) await add(`e-${n}`);
    await rewindSession(sessions, ref, 'e-50');
    const shown = async (need = {}) => {
      const opened = (await sessionCache.open({ ...ref, invocationId: 'new' }, need)) ?? expect.fail();
      sessionCache.keep(opened);
      const events = logIndex(opened.events).visible();
      return events.map(({ invocationId }) => invocationId).filter((id) => Number(id.slice(2)) >= 50);
    };
    expect(await shown()).toEqual([]);
    expect(await shown({ last: 15 })).toEqual([]);
    for (let n = 0; n < 11; n += 1) {
      await add(`later-${n}`);
      expect(await shown()).toEqual([]);
      expect(await shown({ last: 15 })).toEqual([]);
    }
  });

  test('is copied in its present form, and is rewound only as far as its state is known', async () => {
    const { sessions } = await connect({ maxEvents: 20 });
    const session = await sessions.createSession({ ...ref, state: { first: 1 } });
    await sessions.appendEvent({ session, event: said(0, { old: 1 }) });
    await talk(sessions, session, 100);
    await sessions.appendEvent({ session, event: said(101, { old: 2 }) });
    const copy = await forkSession(sessions, ref);
    expect(copy.state).toEqual({ first: 1, n: 100, old: 2 });
    expect(unreadBefore(copy)).toBe(0);
    await expect(rewindSession(sessions, ref, 'e-101')).rejects.toThrow(
      'the earlier value of old is unknown',
    );
    await rewindSession(sessions, ref, 'e-99').catch((error) => expect(String(error)).toContain('old'));
  });
});
