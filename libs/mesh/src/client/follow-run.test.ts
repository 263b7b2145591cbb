import { setImmediate } from 'node:timers/promises';
import { until } from '@agentmesh/testing';
import { describe, expect, it, vi } from 'vitest';
import { all, codeOf, invocationId, world } from './follow-run.fixture.ts';
import { followRun, readInvocation } from './follow-run.ts';
import { maxWaitingBytes } from './news-inbox.ts';
import { watchInvocation } from './watch-run.ts';

describe('coming back to a run', () => {
  it('yields the missed events, then the new ones, each committed event once and in order', async () => {
    const { begin, mesh, ref, commit, piece, finish, listening } = await world();
    await begin();
    await commit('hi', { author: 'user' });
    await commit('one');
    await commit('two');
    const run = await followRun(mesh, ref, { afterSeq: 2 });
    const got = all(run.numbered);
    await commit('three');
    // The reader has read the log, and waits for news.
    await setImmediate();
    await piece('fo');
    await commit('of another', { invocationId: 'e-2' });
    await commit('four');
    await commit('five', {}, false);
    await finish();
    expect(await got).toEqual(['3 two', '4 three', '- fo', '6 four', '7 five']);
    expect(await run.end).toEqual({ status: 'completed', lastSeq: 7 });
    await until(() => listening() === 0, { what: 'the subscription to be gone' });
  });

  it('yields all events of an ended run without a subscription', async () => {
    const { mesh, ref, commit, finish, listening } = await world();
    await commit('hi', { author: 'user' });
    for (let at = 0; at < 120; at += 1) await commit(`n${at}`);
    await finish('failed');
    await commit('later', { invocationId: 'e-2' });
    const run = await followRun(mesh, ref);
    expect(await all(run.numbered)).toEqual(Array.from({ length: 120 }, (_, at) => `${at + 2} n${at}`));
    expect(await run.end).toMatchObject({ status: 'failed', lastSeq: 121, error: { code: 'internal' } });
    expect(await all((await followRun(mesh, ref, { afterSeq: 120 })).numbered)).toEqual(['121 n119']);
    expect(await all((await followRun(mesh, ref, { afterSeq: 122 })).numbered)).toEqual([]);
    expect(listening()).toBe(0);
  });

  it('refuses unknown ids, and a position beyond the end of the session', async () => {
    const { mesh, ref, commit } = await world();
    await commit('hi', { author: 'user' });
    expect(await codeOf(followRun(mesh, ref, { afterSeq: 2 }))).toBe('invalid_argument');
    expect(await codeOf(followRun(mesh, { ...ref, invocationId: 'e-none' }))).toBe('not_found');
    expect(await codeOf(followRun(mesh, { ...ref, sessionId: 'none' }))).toBe('not_found');
    expect(await codeOf(followRun(mesh, { ...ref, userId: 'other' }))).toBe('not_found');
  });

  it('tells a reader that a failover of the store took the session or its last events back', async () => {
    const { begin, mesh, ref, commit, sessions } = await world();
    await begin();
    await commit('hi', { author: 'user' });
    await commit('one');
    const look = sessions.leases.look.bind(sessions.leases);
    const views = [async () => undefined, async () => ({ ...(await look(ref)), seq: 1 }) as never];
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    for (const view of views) {
      const { numbered } = await followRun(mesh, ref, { afterSeq: 1 });
      const reader = numbered[Symbol.asyncIterator]();
      expect((await reader.next()).value).toMatchObject({ seq: 2 });
      const looking = vi.spyOn(sessions.leases, 'look').mockImplementation(view);
      const lost = codeOf(reader.next());
      await vi.advanceTimersByTimeAsync(5_000);
      expect(await lost).toBe('not_found');
      looking.mockRestore();
    }
    vi.useRealTimers();
  });

  it('tells a reader that the session was deleted and made again', async () => {
    const { begin, mesh, ref, sessions } = await world();
    await begin();
    const { numbered } = await followRun(mesh, ref);
    const reader = numbered[Symbol.asyncIterator]();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const lost = codeOf(reader.next());
    vi.spyOn(sessions.invocations, 'get').mockResolvedValue({
      status: 'running',
      llmCalls: 0,
      tokens: 0,
      temp: {},
    });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await lost).toBe('not_found');
    vi.useRealTimers();
  });

  it('waits for a run that no replica has taken yet', async () => {
    const { begin, mesh, ref, commit, finish } = await world();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { events } = await watchInvocation(mesh, ref, { afterSeq: 0 });
    const got = all(events);
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    await begin();
    await commit('one');
    await finish();
    expect(await got).toEqual(['1 one']);
  });

  it('buffers little for a slow reader, which still gets every committed event', async () => {
    const { begin, mesh, ref, commit, piece, finish } = await world();
    await begin();
    await commit('hi', { author: 'user' });
    await commit('begins');
    const run = await followRun(mesh, ref);
    const reader = run.numbered[Symbol.asyncIterator]();
    expect((await reader.next()).value).toMatchObject({ seq: 2 });
    await piece('heard');
    expect((await reader.next()).value).toMatchObject({ event: { partial: true } });
    const size = 100_000;
    const expected: string[] = [];
    for (let at = 0; at < 150; at += 1) {
      await piece('p'.repeat(size));
      if (at % 10 === 0) {
        await commit(`n${at}`);
        expected.push(`${expected.length + 3} n${at}`);
      }
    }
    await finish();
    const got = await all({ [Symbol.asyncIterator]: () => reader });
    expect(got.filter((line) => !line.startsWith('-'))).toEqual(expected);
    const pieces = got.filter((line) => line.startsWith('-'));
    expect(pieces.length * size).toBeLessThan(maxWaitingBytes);
    expect(await run.end).toMatchObject({ status: 'completed' });
  });
});

describe('the end of a run', () => {
  it('comes after events that were committed while it was read', async () => {
    const { begin, mesh, ref, sessions, commit, finish } = await world();
    await begin();
    await commit('hi', { author: 'user' });
    const ask = sessions.invocations.get.bind(sessions.invocations);
    const asked = vi.spyOn(sessions.invocations, 'get');
    const run = await followRun(mesh, ref);
    asked.mockImplementationOnce(async (which) => {
      await commit('last', {}, false);
      await finish();
      return await ask(which);
    });
    expect(await all(run.numbered)).toEqual(['2 last']);
    expect(await run.end).toEqual({ status: 'completed', lastSeq: 2 });
  });
});

describe('the state of a run', () => {
  it('comes from its record and its last event', async () => {
    const { begin, mesh, ref, sessions, commit, finish } = await world();
    await begin();
    await commit('hi', { author: 'user' });
    await sessions.invocations.countLlmCall(ref);
    expect(await readInvocation(mesh, ref)).toEqual({
      invocationId,
      status: 'running',
      llmCalls: 1,
      lastSeq: 1,
    });
    await commit('one');
    await finish('failed');
    expect(await readInvocation(mesh, ref)).toEqual({
      invocationId,
      status: 'failed',
      llmCalls: 1,
      lastSeq: 2,
      error: { code: 'internal', message: 'it broke' },
    });
  });

  it('is not found in another session of the same user', async () => {
    const { mesh, ref, sessions, commit } = await world();
    await commit('hi', { author: 'user' });
    await sessions.invocations.countLlmCall(ref);
    const { id } = await sessions.createSession({ appName: 'app', userId: 'u' });
    expect(await codeOf(readInvocation(mesh, { ...ref, sessionId: id }))).toBe('not_found');
  });

  it('is waiting while another run has the session; a follower gets the events when they come', async () => {
    const { mesh, ref, sessions, commit, finish } = await world();
    const other = { ...ref, invocationId: 'e-other' };
    const options = { run: '{}', whenBusy: 'enqueue' } as const;
    await sessions.leases.take(other, options);
    await commit('other', { invocationId: 'e-other' });
    expect(await sessions.leases.take(ref, options)).toMatchObject({ state: 'busy' });
    const waiting = { invocationId, status: 'waiting', llmCalls: 0, lastSeq: 0 };
    expect(await readInvocation(mesh, ref)).toEqual(waiting);
    expect(await codeOf(readInvocation(mesh, { ...ref, resume: 'r-1' }))).toBe('not_found');
    const run = await followRun(mesh, ref);
    expect(run.state).toEqual(waiting);
    await sessions.invocations.end(other, { status: 'completed' });
    expect(await sessions.leases.take(ref, options)).toMatchObject({ state: 'held' });
    await commit('mine');
    expect(await readInvocation(mesh, ref)).toMatchObject({ status: 'running', lastSeq: 2 });
    await finish();
    expect(await all(run.numbered)).toEqual(['2 mine']);
    expect(await run.end).toMatchObject({ status: 'completed', lastSeq: 2 });
  });

  it('is known for a run that ended before it began', async () => {
    const { mesh, ref, sessions } = await world();
    expect(await sessions.invocations.cancel(ref, 'not needed')).toBeUndefined();
    expect(await codeOf(readInvocation(mesh, ref))).toBe('not_found');
    await sessions.invocations.end(ref, {
      status: 'failed',
      error: { code: 'cancelled', message: 'not needed' },
    });
    const state = await readInvocation(mesh, ref);
    expect(state).toMatchObject({ status: 'cancelled', lastSeq: 0, cancelled: 'not needed' });
    const { numbered, end } = await followRun(mesh, ref);
    expect(await all(numbered)).toEqual([]);
    // The end on the bus has the code alone.
    expect(await end).toMatchObject({ status: 'failed', error: { code: 'cancelled' } });
  });

  it('is read from the log when there is no record: it has expired, or the events were imported', async () => {
    const { mesh, ref, commit } = await world();
    await commit('hi', { author: 'user' });
    await commit('one');
    expect(await readInvocation(mesh, ref)).toEqual({ invocationId, status: 'completed', lastSeq: 2 });
    const failure = { id: `${invocationId}:failure`, errorCode: 'internal', errorMessage: 'it broke' };
    await commit('', failure);
    const run = await followRun(mesh, ref, { afterSeq: 2 });
    expect(await all(run.numbered)).toHaveLength(1);
    expect(await run.end).toEqual({
      status: 'failed',
      lastSeq: 3,
      error: { code: 'internal', message: 'it broke' },
    });
  });

  it('is cancelled, and not failed, also when no record is left', async () => {
    const { mesh, ref, commit } = await world();
    const failure = { errorCode: 'cancelled', errorMessage: 'enough' };
    await commit('', { ...failure, id: `${invocationId}:failure` });
    const error = { code: 'cancelled', message: 'enough' };
    expect(await readInvocation(mesh, ref)).toEqual({
      ...{ invocationId, status: 'cancelled', lastSeq: 1, error, cancelled: 'enough' },
    });
  });
});
