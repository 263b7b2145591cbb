import { expect, test } from 'vitest';
import type { TheService } from './kit.ts';
import { appName, deltaOf, meshError, reread, take, userId } from './kit.ts';

/** Tests of the fencing token: a former holder can commit nothing. */
export function fencing(service: TheService): void {
  const ref = { appName, userId, sessionId: 's', invocationId: 'inv-1' };
  const refused = { ...meshError('aborted'), message: 'another delivery of this run has taken over' };
  const everywhere = { a: 1, 'user:b': 1, 'app:c': 1, 'temp:d': 1 };

  /** Makes a session in which a second delivery has taken over from token 1. */
  async function takenOver() {
    const session = await service().createSession({ appName, userId, sessionId: 's' });
    const event = deltaOf(everywhere);
    expect(await take(service(), ref)).toBe(1);
    await service().appendEvent({ session, event, token: 1 });
    expect(await take(service(), ref)).toBe(2);
    return { session, event };
  }

  test('counts tokens from 1, for each invocation', async () => {
    for (const sessionId of ['s', 't']) await service().createSession({ appName, userId, sessionId });
    await service().createSession({ appName, userId: 'bob', sessionId: 's' });
    expect(await take(service(), ref)).toBe(1);
    expect(await take(service(), ref)).toBe(2);
    expect(await take(service(), { ...ref, sessionId: 't', invocationId: 'inv-2' })).toBe(1);
    expect(await take(service(), { ...ref, userId: 'bob' })).toBe(1);
    expect(await service().invocations.get(ref)).toEqual({
      status: 'running',
      home: ref.sessionId,
      temp: {},
      llmCalls: 0,
      tokens: 0,
    });
  });

  test('gives each of many concurrent callers a token of its own', async () => {
    await service().createSession({ appName, userId, sessionId: 's' });
    const tokens = await Promise.all(Array.from({ length: 32 }, () => take(service(), ref)));
    expect(tokens.sort((a, b) => a - b)).toEqual(tokens.map((_, at) => at + 1));
  });

  test('refuses a commit with an old token, and changes nothing', async () => {
    const { session } = await takenOver();
    const before = { held: structuredClone(session), stored: await reread(service(), session) };
    const invocation = await service().invocations.get(ref);
    const event = deltaOf({ a: 2, 'user:b': 2, 'app:c': 2, 'temp:d': 2 });
    event.actions.transferToAgent = 'billing';
    await expect(service().appendEvent({ session, event, token: 1 })).rejects.toMatchObject(refused);
    expect({ held: session, stored: await reread(service(), session) }).toEqual(before);
    expect(await service().invocations.get(ref)).toEqual(invocation);
    // The refused event was not committed, so the new holder may commit an event with that id.
    await service().appendEvent({ session, event, token: 2 });
    expect(session).toMatchObject({ seq: 2, state: { a: 2, 'user:b': 2, 'app:c': 2, 'temp:d': 2 } });
  });

  test('refuses a repeated event with an old token too', async () => {
    const { session, event } = await takenOver();
    const stored = await reread(service(), session);
    await expect(service().appendEvent({ session, event, token: 1 })).rejects.toMatchObject(refused);
    expect(await reread(service(), session)).toEqual(stored);
    expect((await service().appendEvent({ session, event, token: 2 })).id).toBe(event.id);
    expect(await reread(service(), session)).toEqual(stored);
  });

  test('accepts the newest token, and commits without a token', async () => {
    const { session } = await takenOver();
    await service().appendEvent({ session, event: deltaOf({ n: 1 }), token: 2 });
    await service().appendEvent({ session, event: deltaOf({ n: 2 }) });
    expect(session).toMatchObject({ seq: 3, state: { n: 2 } });
  });

  test('refuses to count and to end with an old token', async () => {
    await takenOver();
    const before = await service().invocations.get(ref);
    await expect(service().invocations.countLlmCall(ref, 1)).rejects.toMatchObject(refused);
    await expect(service().invocations.end(ref, { status: 'failed' }, 1)).rejects.toMatchObject(refused);
    expect(await service().invocations.get(ref)).toEqual(before);
    expect(await service().invocations.countLlmCall(ref, 2)).toBe(1);
    expect(await service().invocations.countLlmCall(ref)).toBe(2);
    const ended = { ...before, status: 'completed', llmCalls: 2, tokens: 0 };
    const found = { lastSeq: 1, isIdle: true };
    expect(await service().invocations.end(ref, { status: 'completed' }, 2)).toEqual({ ...ended, ...found });
    await expect(service().invocations.end(ref, { status: 'failed' }, 1)).rejects.toMatchObject(refused);
  });

  test('refuses commits of the former holder after a takeover', async () => {
    const session = await service().createSession({ appName, userId, sessionId: 's' });
    const token = await take(service(), ref);
    const commit = async (n: number) =>
      await service().appendEvent({ session: structuredClone(session), event: deltaOf({ n }), token });
    const readOnceTaken = async () => {
      await take(service(), ref);
      return await service().log.readEvents(ref);
    };
    const before = Array.from({ length: 16 }, (_, n) => commit(n));
    const taken = readOnceTaken();
    const after = Array.from({ length: 16 }, (_, n) => commit(16 + n));
    const settled = await Promise.allSettled([...before, ...after]);
    const committed = await taken;
    expect(await service().log.readEvents(ref)).toEqual(committed);
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(committed.length);
    await expect(commit(32)).rejects.toMatchObject(refused);
  });

  test('refuses commits of attempts at a closed part, and begins no attempt at it', async () => {
    const session = await service().createSession({ appName, userId, sessionId: 's' });
    const first = await service().invocations.beginAttempt(ref, 'a part');
    await service().invocations.closePart(ref, 'a part');
    await service().invocations.closePart(ref, 'never begun');
    await expect(
      service().appendEvent({ session, event: deltaOf({ n: 1 }), attempt: first }),
    ).rejects.toMatchObject({ code: 'aborted' });
    for (const part of ['a part', 'never begun', 'a part'])
      await expect(service().invocations.beginAttempt(ref, part)).rejects.toMatchObject({
        code: 'cancelled',
      });
    expect(await service().invocations.beginAttempt(ref, 'another')).toMatchObject({ number: 1 });
  });

  test('refuses commits of an attempt that is not the newest at its part', async () => {
    const session = await service().createSession({ appName, userId, sessionId: 's' });
    const first = await service().invocations.beginAttempt(ref, 'a part');
    expect(first).toEqual({ part: 'a part', number: 1 });
    await service().appendEvent({ session, event: deltaOf({ n: 1 }), attempt: first });
    const second = await service().invocations.beginAttempt(ref, 'a part');
    const other = await service().invocations.beginAttempt(ref, 'another');
    expect([second.number, other.number]).toEqual([2, 1]);
    const event = deltaOf({ n: 2 });
    await expect(service().appendEvent({ session, event, attempt: first })).rejects.toMatchObject({
      code: 'aborted',
      details: { reason: 'asked_again' },
    });
    await service().appendEvent({ session, event, attempt: second });
    await service().appendEvent({ session, event: deltaOf({ n: 3 }), attempt: other });
    expect(session).toMatchObject({ seq: 3, state: { n: 3 } });
    expect(await service().invocations.get(ref)).toMatchObject({ status: 'running', temp: {} });
  });
}
