import { maxPayloadBytes } from '@agentmesh/protocol';
import { expect, test } from 'vitest';
import type { TheService } from './kit.ts';
import { appName, deltaOf, eventOf, meshError, refOf, reread, userId } from './kit.ts';

/** Tests of unusual names, and of values that JSON cannot hold. */
export function strangeValues(service: TheService): void {
  test('separates names that a naive key would mix up', async () => {
    const names = [
      { appName: 'a:b', userId: 'c', sessionId: 's' },
      { appName: 'a', userId: 'b:c', sessionId: 's' },
      { appName: 'a', userId: 'b', sessionId: 'c:s' },
      { appName: 'a}', userId: '{b', sessionId: 's' },
      { appName: 'a', userId: 'b', sessionId: 's:events' },
      { appName: '*', userId: '?', sessionId: '[a-z]' },
      { appName: 'ä', userId: '日本', sessionId: '🦊\n\u0000' },
      { appName: '__proto__', userId: 'constructor', sessionId: 'toString' },
      { appName: '', userId: '', sessionId: '' },
    ];
    for (const [n, ref] of names.entries()) {
      const session = await service().createSession({ ...ref, state: { n, 'user:n': n } });
      await service().appendEvent({ session, event: eventOf({ author: `author ${n}` }) });
    }
    for (const [n, ref] of names.entries()) {
      const session = await service().getSession(ref);
      expect(session).toMatchObject({ appName: ref.appName, userId: ref.userId, id: ref.sessionId, seq: 1 });
      expect(session).toMatchObject({ state: { n }, events: [{ author: `author ${n}` }] });
      const { sessions } = await service().listSessions(ref);
      expect(sessions.map(({ id }) => id)).toContain(ref.sessionId);
    }
  });

  test.each([
    ['an app', { appName: 'x'.repeat(97), userId }],
    ['a user', { appName, userId: 'ü'.repeat(20) }],
    ['a session', { appName, userId, sessionId: 'x'.repeat(2_000) }],
    ['ill-formed', { appName, userId: '\ud800' }],
  ])('refuses the name of %s that cannot be a key', async (_what, request) => {
    await expect(service().createSession(request)).rejects.toMatchObject(meshError('invalid_argument'));
    const ref = { sessionId: 's', ...request };
    await expect(service().getSession(ref)).rejects.toMatchObject(meshError('invalid_argument'));
    await expect(service().deleteSession(ref)).rejects.toMatchObject(meshError('invalid_argument'));
    await expect(service().log.readEvents(ref)).rejects.toMatchObject(meshError('invalid_argument'));
    await expect(service().invocations.countLlmCall({ ...ref, invocationId: 'i' })).rejects.toMatchObject(
      meshError('invalid_argument'),
    );
  });

  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  test.each([
    ['a BigInt', 1n],
    ['a cycle', cyclic],
    ['a function', () => 1],
    ['a function within', { deep: [{ f() {} }] }],
    ['a symbol', Symbol('s')],
    ['NaN', Number.NaN],
    ['Infinity', { n: Number.POSITIVE_INFINITY }],
    ['undefined in a list', [undefined]],
    ['a Map', new Map([['a', 1]])],
    ['a Set', { s: new Set() }],
    ['a toJSON that gives nothing', { toJSON: () => undefined }],
  ])('refuses %s, and changes nothing', async (_what, value) => {
    const refused = meshError('invalid_argument');
    const request = { appName, userId, sessionId: 's' };
    await expect(service().createSession({ ...request, state: { value } })).rejects.toMatchObject(refused);
    expect(await service().getSession(request)).toBeUndefined();
    const session = await service().createSession(request);
    const events = [
      deltaOf({ good: 1, value }),
      deltaOf({ 'temp:value': value }),
      eventOf({ customMetadata: { value } }),
    ];
    for (const event of events) {
      await expect(service().appendEvent({ session, event })).rejects.toMatchObject(refused);
    }
    expect(session).toMatchObject({ seq: 0, state: {} });
    expect(await reread(service(), session)).toEqual(session);
  });

  test('refuses values that are too large, and changes nothing', async () => {
    const refused = { ...meshError('invalid_argument'), message: expect.stringContaining('as an artifact') };
    const text = 'x'.repeat(maxPayloadBytes);
    const request = { appName, userId, sessionId: 's' };
    await expect(service().createSession({ ...request, state: { text } })).rejects.toMatchObject(refused);
    const session = await service().createSession(request);
    const event = eventOf({ content: { role: 'model', parts: [{ text }] } });
    await expect(service().appendEvent({ session, event })).rejects.toMatchObject(refused);
    const history = service().log.appendHistory(request, { afterSeq: 0, events: [eventOf(), event] });
    await expect(history).rejects.toMatchObject(refused);
    expect(await reread(service(), session)).toEqual(session);
  });

  test('takes what JSON can hold', async () => {
    const values = [0, -0.5, 1e300, '', 'null', '\u0000\ud800', true, null, [], {}, [[{ a: null }]]];
    const when = new Date(0);
    const session = await service().createSession({ appName, userId });
    await service().appendEvent({ session, event: deltaOf({ values, when, gone: { a: undefined } }) });
    const kept = values.map((value) => (typeof value === 'string' ? value.toWellFormed() : value));
    const expected = { values: kept, when: when.toJSON(), gone: {} };
    expect(session.state).toStrictEqual(expected);
    expect((await reread(service(), session)).state).toStrictEqual(expected);
  });

  test.each([
    ['an empty id', { id: '' }],
    ['an ill-formed id', { id: '\udfff' }],
    ['a timestamp that is none', { timestamp: Number.NaN }],
    ['an ill-formed state key', { actions: { stateDelta: { '\ud800': 1 } } }],
    ['a long invocation id', { invocationId: 'i'.repeat(97) }],
  ])('refuses an event with %s', async (_what, fields) => {
    const session = await service().createSession({ appName, userId });
    const append = service().appendEvent({ session, event: eventOf(fields) });
    await expect(append).rejects.toMatchObject(meshError('invalid_argument'));
    expect(await service().log.readEvents(refOf(session))).toEqual([]);
  });
}
