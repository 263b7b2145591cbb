import { randomUUID } from 'node:crypto';
import { createEvent } from '@agentmesh/agent';
import type { TakeOptions } from '@agentmesh/agent/internal';
import { type Server, startRedis } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { connectRedisStore } from '../redis-store.ts';

let server: Server;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Makes a session, and functions that take it for an invocation with its first event, and read its log. */
async function freshSession() {
  const store = await connectRedisStore({ url: server.url, prefix: randomUUID() });
  onTestFinished(() => store[Symbol.asyncDispose]());
  const { sessions } = store;
  const ref = { appName: 'shop', userId: 'ann', sessionId: 's' };
  await sessions.createSession(ref);
  const first = (id: string) =>
    createEvent({
      id: `m-${id}`,
      invocationId: id,
      author: 'user',
      content: { role: 'user', parts: [{ text: id }] },
    });
  const take = (id: string, options: Partial<TakeOptions> = {}) =>
    sessions.leases.take(
      { ...ref, invocationId: id },
      { run: id, whenBusy: 'enqueue', onlyNew: true, first: first(id), ...options },
    );
  const log = async () => (await sessions.log.readEvents(ref)).map(({ event }) => event.id);
  return { sessions, ref, first, take, log };
}

describe('a session that is taken with the first event of an invocation', () => {
  it('gets the event in the same step', async () => {
    const { sessions, ref, first, take, log } = await freshSession();
    const taken = await take('a');
    expect(taken).toMatchObject({
      state: 'held',
      token: 1,
      seq: 0,
      committed: { seq: 1, event: { id: 'm-a' } },
    });
    expect(await log()).toEqual(['m-a']);
    const session = await sessions.getSession(ref);
    if (!session) throw new Error('the session is gone');
    // A later commit of the same event is a repetition, and the next event follows it.
    await sessions.appendEvent({ session, event: first('a'), token: 1 });
    await sessions.appendEvent({ session, event: { ...first('a'), id: 'next', author: 'shop' }, token: 1 });
    expect(await log()).toEqual(['m-a', 'next']);
  });

  it('gets nothing of a run that must wait, and the event when its turn has come', async () => {
    const { sessions, ref, take, log } = await freshSession();
    await take('a');
    expect(await take('b')).toEqual({ state: 'busy', holder: 'a' });
    expect(await take('c', { whenBusy: 'reject' })).toMatchObject({ state: 'busy', isRejected: true });
    expect(await log()).toEqual(['m-a']);
    await sessions.invocations.end({ ...ref, invocationId: 'a' }, { status: 'completed' }, 1);
    expect(await take('b')).toMatchObject({ state: 'held', token: 1, seq: 1, committed: { seq: 2 } });
    expect(await log()).toEqual(['m-a', 'm-b']);
  });

  it('gets nothing of a run that was cancelled before', async () => {
    const { sessions, ref, take, log } = await freshSession();
    const untaken = { untaken: true };
    await sessions.invocations.cancel({ ...ref, invocationId: 'a' }, 'not needed', untaken);
    expect(await take('a')).toEqual({ state: 'ended' });
    expect(await log()).toEqual([]);
  });

  it('gets nothing from whoever takes the invocation over', async () => {
    const { take, log } = await freshSession();
    await take('a', { first: undefined });
    expect(await take('a')).toEqual({ state: 'begun' });
    const taken = await take('a', { onlyNew: false });
    expect(taken).toMatchObject({ state: 'held', token: 2 });
    expect(taken).not.toHaveProperty('committed');
    expect(await log()).toEqual([]);
  });

  it('is taken alone when the event cannot be kept', async () => {
    const { first, take, log } = await freshSession();
    const taken = await take('a', {
      first: { ...first('a'), content: { parts: [{ text: 'x'.repeat(40_000_000) }] } },
    });
    expect(taken).toMatchObject({ state: 'held', token: 1 });
    expect(taken).not.toHaveProperty('committed');
    expect(await log()).toEqual([]);
  });
});
