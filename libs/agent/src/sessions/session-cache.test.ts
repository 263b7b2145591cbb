import type { Event } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { createEvent } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { InMemorySessionService } from './in-memory/session-service.ts';
import { overrideSessions } from './override-sessions.ts';
import type { Session } from './session.ts';
import { SessionCache } from './session-cache.ts';
import { importSession, rewindSession } from './session-history.ts';

const ref = { appName: 'app', userId: 'u', sessionId: 's', invocationId: 'e-1' };
const say = (text: string) =>
  createEvent({ invocationId: 'e-1', author: 'user', content: { role: 'user', parts: [{ text }] } });

/** Makes a session service that records what is read, and whose readers own what they read. */
function watchedSessions() {
  const inner = new InMemorySessionService();
  /** The number of the reader's last event, for each read. */
  const reads: number[] = [];
  const sessions = overrideSessions(inner, {
    log: {
      readTurn: async (...args) => {
        reads.push(args[2] ?? 0);
        const turn = await inner.log.readTurn(...args);
        return turn && { ...turn, sharesEvents: false };
      },
    },
  });
  return { ...sessions, reads };
}

async function makeSession({ events = 3, maxBytes }: { events?: number; maxBytes?: number } = {}) {
  const sessions = watchedSessions();
  const sessionCache = new SessionCache({ sessions, ...(maxBytes !== undefined && { maxBytes }) });
  const session = await sessions.createSession(ref);
  for (let n = 1; n <= events; n += 1) await sessions.appendEvent({ session, event: say(`${n}`) });
  const open = async () => (await sessionCache.open(ref)) ?? expect.fail();
  return { sessions, sessionCache, open, other: session };
}

const textsOf = ({ events }: Session) => events.map((event: Event) => event.content?.parts?.[0]?.text);

describe('the session cache', () => {
  it('reads only the new events of a cached session, into the same list', async () => {
    const { sessions, sessionCache, open, other } = await makeSession();
    const first = await open();
    logIndex(first.events);
    sessionCache.keep(first);
    await sessions.appendEvent({ session: other, event: say('4') });
    const second = await open();
    expect(second.events).toBe(first.events);
    expect(textsOf(second)).toEqual(['1', '2', '3', '4']);
    expect(logIndex(second.events).ofInvocation('e-1')).toHaveLength(4);
    expect(sessions.reads).toEqual([0, 3]);
  });

  it('lends a session to one at a time', async () => {
    const { sessionCache, open } = await makeSession();
    sessionCache.keep(await open());
    const [one, two] = [await open(), await open()];
    expect(two.events).not.toBe(one.events);
    expect(textsOf(two)).toEqual(textsOf(one));
  });

  it('reads anew a session that was deleted and created again, and one that lost its last events', async () => {
    const { sessions, sessionCache, open } = await makeSession();
    sessionCache.keep(await open());
    await sessions.deleteSession(ref);
    expect(await sessionCache.open(ref)).toBeUndefined();
    const again = await sessions.createSession(ref);
    for (const text of ['a', 'b', 'c']) await sessions.appendEvent({ session: again, event: say(text) });
    sessionCache.keep(again);
    await sessions.deleteSession(ref);
    const third = await sessions.createSession(ref);
    for (const text of ['x', 'y', 'z', '!']) await sessions.appendEvent({ session: third, event: say(text) });
    expect(textsOf(await open())).toEqual(['x', 'y', 'z', '!']);
    sessionCache.keep(third);
    await sessions.deleteSession(ref);
    await sessions.createSession(ref);
    expect(textsOf(await open())).toEqual([]);
  });

  it('reads anew a session that was deleted and rebuilt from its changed events', async () => {
    const { sessions, sessionCache, open } = await makeSession();
    const first = await open();
    sessionCache.keep(first);
    await sessions.deleteSession(ref);
    const events = first.events.map((event) => ({
      ...event,
      content: { role: 'user', parts: [{ text: 'x' }] },
    }));
    await importSession(sessions, { ...ref, events });
    expect(textsOf(await open())).toEqual(['x', 'x', 'x']);
  });

  it('reads the whole log when a part of it was rewound', async () => {
    const { sessions, sessionCache, open, other } = await makeSession({ events: 200 });
    await rewindSession(sessions, ref, 'e-1');
    await sessions.appendEvent({
      session: other,
      event: createEvent({ invocationId: 'e-9', author: 'one' }),
    });
    const need = { last: 60 };
    const part = (await sessionCache.open({ ...ref, invocationId: 'new' }, need)) ?? expect.fail();
    expect(part.events).toHaveLength(202);
    expect(logIndex(part.events).visible()).toHaveLength(1);
    sessionCache.keep(part);
    expect((await open()).events).toBe(part.events);
  });

  it('hides rewound events of an invocation that continued later', async () => {
    const { sessions, sessionCache } = await makeSession({ events: 0 });
    const session = (await sessions.getSession(ref)) ?? expect.fail();
    const add = async (invocationId: string) =>
      await sessions.appendEvent({ session, event: createEvent({ invocationId, author: 'user' }) });
    for (const id of ['first', 'X', ...Array.from({ length: 100 }, (_, n) => `secret-${n}`), 'X', 'later'])
      await add(id);
    await rewindSession(sessions, ref, 'X');
    const part = (await sessionCache.open({ ...ref, invocationId: 'new' }, { last: 60 })) ?? expect.fail();
    expect(
      logIndex(part.events)
        .visible()
        .map(({ invocationId }) => invocationId),
    ).toEqual(['first']);
  });

  it('ignores a list that cannot be cached', async () => {
    const { sessionCache, open } = await makeSession();
    const session = await open();
    let deep: unknown[] = [];
    for (let n = 0; n < 20_000; n += 1) deep = [deep];
    session.events.push(createEvent({ actions: { stateDelta: { deep } } }));
    session.seq += 1;
    expect(() => sessionCache.keep(session)).not.toThrow();
  });

  it('returns the current state, a copy for each caller', async () => {
    const { sessions, sessionCache, open, other } = await makeSession();
    const first = await open();
    first.state.own = 'mine';
    sessionCache.keep(first);
    const event = createEvent({ invocationId: 'e-2', actions: { stateDelta: { 'user:a': 1, b: 2 } } });
    await sessions.appendEvent({ session: other, event });
    expect((await open()).state).toEqual({ 'user:a': 1, b: 2 });
  });

  it('keeps events from being changed once they are shared', async () => {
    const { sessionCache, open } = await makeSession();
    const first = await open();
    sessionCache.keep(first);
    expect(() => Object.assign(first.events[0]?.content ?? {}, { role: 'model' })).toThrow(TypeError);
  });

  it('keeps events from being changed that were just read, too', async () => {
    const { sessionCache, open, sessions, other } = await makeSession();
    const session = await open();
    expect(session.events.every((event) => Object.isFrozen(event.actions))).toBe(true);
    await sessions.appendEvent({ session: other, event: say('4') });
    const refreshed = (await sessionCache.refresh(session)) ?? expect.fail();
    expect(Object.isFrozen(refreshed.events.at(-1)?.content)).toBe(true);
  });

  it('does not keep a list that somebody has changed', async () => {
    const { sessionCache, open } = await makeSession();
    const first = await open();
    first.events.pop();
    sessionCache.keep(first);
    expect(textsOf(await open())).toEqual(['1', '2', '3']);
  });

  it('stays within its memory limit and keeps the newest sessions', async () => {
    const { sessions, sessionCache, open } = await makeSession({ maxBytes: 5_000 });
    const otherRef = { ...ref, sessionId: 's2' };
    const other = await sessions.createSession(otherRef);
    for (let n = 0; n < 4; n += 1) await sessions.appendEvent({ session: other, event: say('x'.repeat(20)) });
    sessionCache.keep(await open());
    sessionCache.keep((await sessionCache.open(otherRef)) ?? expect.fail());
    sessions.reads.length = 0;
    await sessionCache.open(otherRef);
    await open();
    expect(sessions.reads).toEqual([4, 0]);
  });

  it('caches nothing with a limit of 0', async () => {
    const { sessions, sessionCache, open } = await makeSession({ maxBytes: 0 });
    sessionCache.keep(await open());
    await open();
    expect(sessions.reads).toEqual([0, 0]);
  });

  it('brings a session up to date', async () => {
    const { sessions, sessionCache, open, other } = await makeSession();
    const session = await open();
    await sessions.appendEvent({ session: other, event: say('4') });
    expect(textsOf((await sessionCache.refresh(session)) ?? expect.fail())).toEqual(['1', '2', '3', '4']);
    await sessions.deleteSession(ref);
    expect(await sessionCache.refresh(session)).toBeUndefined();
  });
});
