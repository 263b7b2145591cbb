import { expect, test } from 'vitest';
import type { Session } from '../../sessions/session.ts';
import type { TheService } from './kit.ts';
import { appName, deltaOf, eventOf, meshError, refOf, reread, userId } from './kit.ts';

/** Tests of `appendEvent`. */
export function committing(service: TheService): void {
  const create = () => service().createSession({ appName, userId, sessionId: 's' });
  const read = () => service().log.readEvents({ appName, userId, sessionId: 's' });

  test('stores an event and brings the session object up to date', async () => {
    const session = await create();
    const content = {
      role: 'model',
      parts: [{ text: 'hi' }, { functionCall: { id: 'c', name: 'f', args: { a: 1 } } }],
    };
    const event = eventOf({
      content,
      customMetadata: { 'mesh:replica': 'r' },
      timestamp: 1_800_000_000_000.5,
    });
    const committed = await service().appendEvent({ session, event });
    expect(committed).toEqual(event);
    expect(session).toMatchObject({ seq: 1, lastUpdateTime: 1_800_000_000_000.5, events: [event] });
    expect(await reread(service(), session)).toEqual(session);
  });

  test('returns a partial event and does not store it', async () => {
    const session = await create();
    const event = eventOf({ partial: true, actions: { stateDelta: { a: 1 } } });
    expect(await service().appendEvent({ session, event })).toEqual(event);
    expect(session).toMatchObject({ seq: 0, events: [], state: {} });
    expect(await reread(service(), session)).toEqual(session);
  });

  test('commits an event id once, although other events came in between', async () => {
    const session = await create();
    const first = deltaOf({ a: 1, 'user:b': 1, 'app:c': 1, 'temp:d': 1 });
    const committed = await service().appendEvent({ session, event: first });
    await service().appendEvent({ session, event: deltaOf({ a: 2, 'user:b': 2, 'app:c': 2, 'temp:d': 2 }) });
    const before = await reread(service(), session);
    const repeated = {
      ...first,
      author: 'somebody else',
      actions: { ...first.actions, transferToAgent: 'x' },
    };
    expect(await service().appendEvent({ session, event: repeated })).toEqual(committed);
    expect(session).toMatchObject({ seq: 2, state: { a: 2, 'user:b': 2, 'app:c': 2, 'temp:d': 2 } });
    expect(session.events.map(({ id }) => id)).toEqual(before.events.map(({ id }) => id));
    expect(await reread(service(), session)).toEqual(before);
    const { temp } = await service().invocations.get({ ...refOf(session), invocationId: 'inv-1' });
    expect(temp).toEqual({ 'temp:d': 2 });
  });

  test('commits an event once for concurrent repetitions', async () => {
    const session = await create();
    const event = deltaOf({ a: 1 });
    await Promise.all(Array.from({ length: 16 }, () => service().appendEvent({ session, event })));
    expect(await read()).toEqual([{ seq: 1, event }]);
    expect(session).toMatchObject({ seq: 1, events: [event] });
  });

  test('updates an object that missed its own commit', async () => {
    const [lost, session] = [await create(), await service().getSession({ appName, userId, sessionId: 's' })];
    const event = deltaOf({ a: 1, 'temp:t': 1 });
    await service().appendEvent({ session: session ?? expect.fail(), event });
    await service().appendEvent({ session: lost, event });
    expect(lost).toEqual(session);
    expect(lost.state).toEqual({ a: 1, 'temp:t': 1 });
  });

  test('distinguishes equal event ids of different invocations and sessions', async () => {
    const session = await create();
    const other = await service().createSession({ appName, userId, sessionId: 'other' });
    const event = eventOf({ id: 'same' });
    await service().appendEvent({ session, event });
    await service().appendEvent({ session, event: { ...event, invocationId: 'inv-2' } });
    await service().appendEvent({ session: other, event });
    expect([session.seq, other.seq]).toEqual([2, 1]);
    expect((await reread(service(), other)).events).toEqual([event]);
  });

  test('numbers 64 concurrent commits through separate objects without a gap', async () => {
    await create();
    const objects = await Promise.all(
      Array.from({ length: 64 }, () => service().getSession({ appName, userId, sessionId: 's' })),
    );
    const events = objects.map((_, n) => deltaOf({ [`k${n}`]: n, last: n }));
    await Promise.all(
      objects.map((session, n) =>
        service().appendEvent({ session: session ?? expect.fail(), event: events[n] ?? expect.fail() }),
      ),
    );
    const stored = await read();
    expect(stored.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
    expect(stored.map(({ event }) => event.id).sort()).toEqual(events.map(({ id }) => id).sort());
    const final = await service().getSession({ appName, userId, sessionId: 's' });
    expect(final).toMatchObject({ seq: 64, state: { last: stored.at(-1)?.event.actions.stateDelta.last } });
    expect(Object.keys(final?.state ?? {})).toHaveLength(65);
    // Each object holds all events up to its own last one, each once.
    for (const [n, session] of objects.entries()) {
      expect(session?.events).toEqual(stored.slice(0, session?.seq).map(({ event }) => event));
      expect(session?.events.some(({ id }) => id === events[n]?.id)).toBe(true);
    }
  });

  test('numbers 64 concurrent commits through one object without a gap', async () => {
    const session = await create();
    await Promise.all(Array.from({ length: 64 }, () => service().appendEvent({ session, event: eventOf() })));
    expect(session.seq).toBe(64);
    expect(session.events).toEqual((await read()).map(({ event }) => event));
  });

  test('merges the events and state of two writers with stale objects, in one order (ADK defect B15)', async () => {
    await create();
    const open = async () =>
      (await service().getSession({ appName, userId, sessionId: 's' })) ?? expect.fail();
    const [one, two] = [await open(), await open()];
    // Each writer uses what it read at the start and its own commits; neither reads again.
    const write = async (session: Session, who: string) => {
      for (let n = 1; n <= 8; n += 1) {
        const stateDelta = { [`${who}${n}`]: n, [`user:${who}`]: n, [`app:${who}`]: n, last: `${who}${n}` };
        await service().appendEvent({ session, event: deltaOf(stateDelta, { id: `${who}${n}` }) });
      }
    };
    await Promise.all([write(one, 'a'), write(two, 'b')]);
    const log = await read();
    expect(log.map(({ seq }) => seq)).toEqual(Array.from({ length: 16 }, (_, at) => at + 1));
    const ids = log.map(({ event }) => event.id);
    const own = (who: string) => ids.filter((id) => id.startsWith(who));
    for (const who of ['a', 'b']) {
      expect(own(who)).toEqual(Array.from({ length: 8 }, (_, at) => `${who}${at + 1}`));
    }
    const final = await open();
    expect(final.state).toMatchObject({ a8: 8, b8: 8, 'user:a': 8, 'user:b': 8, 'app:a': 8, 'app:b': 8 });
    expect(Object.keys(final.state)).toHaveLength(21);
    expect(final.state.last).toBe(ids.at(-1));
    // Both objects hold the log up to their own last commit. The object of the last writer holds the whole
    // log and the state.
    for (const held of [one, two]) expect(held.events.map(({ id }) => id)).toEqual(ids.slice(0, held.seq));
    const [last] = [one, two].sort((a, b) => b.seq - a.seq);
    expect(last).toEqual(final);
  });

  test('adds the events that others have committed to a stale object', async () => {
    const session = await create();
    await service().appendEvent({ session, event: deltaOf({ a: 1, b: 1 }) });
    const stale = await service().getSession({
      appName,
      userId,
      sessionId: 's',
      config: { numRecentEvents: 0 },
    });
    const missed = deltaOf({ a: 2, 'temp:other': 1 }, { invocationId: 'inv-2' });
    const stored = await service().appendEvent({ session, event: missed });
    const own = deltaOf({ b: 2 });
    await service().appendEvent({ session: stale ?? expect.fail(), event: own });
    expect(stale).toMatchObject({ seq: 3, events: [stored, own], lastUpdateTime: own.timestamp });
    expect(stale?.state).toEqual({ a: 2, b: 2 });
  });

  test("neither changes nor shares the caller's objects", async () => {
    const state = { list: [1] };
    const session = await service().createSession({ appName, userId, sessionId: 's', state });
    const event = deltaOf({ more: [1], 'temp:t': [1] });
    const given = structuredClone(event);
    const committed = await service().appendEvent({ session, event });
    expect(event).toEqual(given);
    for (const list of [state.list, event.actions.stateDelta.more, session.state.list, session.state.more]) {
      (list as number[]).push(2);
    }
    committed.author = 'mallory';
    session.events.length = 0;
    const stored = await reread(service(), session);
    expect(stored).toMatchObject({ state: { list: [1], more: [1] }, events: [{ author: 'helper' }] });
    (stored.state.list as number[]).push(3);
    stored.events.pop();
    expect(await reread(service(), session)).toMatchObject({ state: { list: [1] }, seq: 1, events: [{}] });
    const [first] = await read();
    Object.assign(first?.event ?? {}, { author: 'mallory' });
    expect(await read()).toMatchObject([{ event: { author: 'helper' } }]);
  });

  test('takes an event of 500 KB', async () => {
    const session = await create();
    const event = eventOf({ content: { role: 'user', parts: [{ text: 'ü'.repeat(250_000) }] } });
    await service().appendEvent({ session, event });
    expect(await read()).toEqual([{ seq: 1, event }]);
  });

  test('does not append to an unknown session', async () => {
    const session = { ...(await create()), id: 'never' };
    await expect(service().appendEvent({ session, event: eventOf() })).rejects.toMatchObject(
      meshError('not_found'),
    );
  });
}
