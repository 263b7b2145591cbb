import { MeshError } from '@agentmesh/protocol';
import { afterEach, expect, it, vi } from 'vitest';
import { all, codeOf, world } from './follow-run.fixture.ts';
import { followRun } from './follow-run.ts';

afterEach(() => vi.useRealTimers());

// In a process of its own: other tests would have timers, too.
it('coming back to a run ends at once when its signal aborts, whatever it waits for, and leaves neither a subscription nor a timer', async () => {
  const { begin, mesh, ref, commit, listening, sessions } = await world();
  await begin();
  await commit('hi', { author: 'user' });
  await commit('one');
  vi.useFakeTimers();
  const whileSilent = new AbortController();
  const { numbered } = await followRun(mesh, ref, { signal: whileSilent.signal });
  const reader = numbered[Symbol.asyncIterator]();
  expect((await reader.next()).value).toMatchObject({ seq: 2 });
  const next = reader.next();
  expect(listening()).toBe(1);
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  whileSilent.abort(new MeshError('cancelled', 'gone'));
  expect(await codeOf(next)).toBe('cancelled');
  expect([listening(), vi.getTimerCount()]).toEqual([0, 0]);

  // Aborted while the store does not answer.
  const whileReading = new AbortController();
  const hangs = vi.spyOn(sessions.log, 'readEvents');
  const second = await followRun(mesh, ref, { signal: whileReading.signal });
  hangs.mockReturnValue(new Promise(() => {}));
  const waiting = Array.fromAsync(second.numbered);
  await vi.waitFor(() => expect(hangs).toHaveBeenCalledTimes(2));
  whileReading.abort();
  expect(await codeOf(waiting)).toBe('cancelled');
  expect(await codeOf(second.end)).toBe('cancelled');
  expect([listening(), vi.getTimerCount()]).toEqual([0, 0]);
  hangs.mockRestore();

  // Aborted while nobody reads, or before the first read.
  const unread = new AbortController();
  const third = await followRun(mesh, ref, { signal: unread.signal });
  unread.abort();
  expect([listening(), vi.getTimerCount()]).toEqual([0, 0]);
  expect(await codeOf(all(third.numbered))).toBe('cancelled');
  const before = await followRun(mesh, ref, { signal: AbortSignal.abort() });
  expect(await codeOf(all(before.numbered))).toBe('cancelled');
  expect([listening(), vi.getTimerCount()]).toEqual([0, 0]);
});
