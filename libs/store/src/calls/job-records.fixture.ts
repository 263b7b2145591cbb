import { randomUUID } from 'node:crypto';
import { keys, maxPayloadBytes, type ToolResult } from '@agentmesh/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RedisConnection } from '../connection/redis-connection.ts';
import type { RedisStore } from '../redis-store.ts';
import type { StoreHost } from '../store-host.fixture.ts';

/** Tests that `JobRecords` must pass, on any Redis. */
export function jobRecordsConformance(host: StoreHost): void {
  let store: RedisStore;
  const prefix = `am:${randomUUID()}`;
  let admin: RedisConnection;
  beforeAll(async () => {
    store = await host.openStore({ prefix });
    admin = await host.openAdmin();
  });
  afterAll(async () => {
    await admin[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  let count = 0;
  /** Makes the records of one job. */
  function newJob() {
    count += 1;
    const job = `job-${count}`;
    const { jobs } = store;
    return {
      take: (holder: string, leaseMs = 60_000, gone?: string) =>
        jobs.take('work', job, holder, leaseMs, gone),
      release: (holder: string) => jobs.release('work', job, holder),
      report: (holder: string, n: number, id?: string) => jobs.report('work', job, holder, { n }, id),
      left: () => admin.run((client) => client.pttl(keys(prefix).job('work', job))),
      finish: (response: unknown) => jobs.finish('work', job, { response, isLastWord: true }),
      follow: (after = 0) => jobs.follow('work', job, after),
      leave: (after = 0) => jobs.leave('work', job, after),
      forget: (final?: ToolResult) => jobs.forget('work', job, final),
    };
  }

  describe('the records of a job', () => {
    it('belong to one worker at a time', async () => {
      const { take } = newJob();
      const found = await Promise.all(['a', 'b', 'c'].map((holder) => take(holder)));
      expect(found.map(({ state }) => state).sort()).toEqual(['busy', 'busy', 'taken']);
      expect(found).toContainEqual({ state: 'taken', attempt: 1, deaths: 0 });
    });

    it('go to another worker when the first is gone and its lease has lapsed, with its latest progress', async () => {
      const { take, report, finish } = newJob();
      await take('a', 50);
      expect(await take('b', 60_000, 'a')).toEqual({ state: 'busy', holder: 'a', isLapsed: false });
      expect(await report('a', 1)).toEqual({ seq: 1, isFollowed: false });
      expect(await report('a', 2)).toEqual({ seq: 2, isFollowed: false });
      await expect.poll(() => take('b')).toEqual({ state: 'busy', holder: 'a', isLapsed: true });
      expect(await take('b', 60_000, 'other')).toMatchObject({ state: 'busy' });
      expect(await take('b', 60_000, 'a')).toEqual({
        state: 'taken',
        attempt: 2,
        deaths: 1,
        lastProgress: { n: 2 },
      });
      // A renewal is not a new attempt.
      expect(await take('b')).toMatchObject({ state: 'taken', attempt: 2 });
      expect(await report('a', 3)).toBeUndefined();
      expect(await report('b', 3)).toMatchObject({ seq: 3 });
      // A late result of the first worker counts all the same.
      expect(await finish('late')).toMatchObject({ result: { response: 'late' }, said: 3 });
      expect(await take('b')).toMatchObject({ state: 'done' });
    });

    it('refuse a result that is too large, and then take another', async () => {
      const { take, report, finish } = newJob();
      await take('a');
      const refused = { code: 'invalid_argument', message: expect.stringContaining('as an artifact') };
      await expect(finish('x'.repeat(maxPayloadBytes))).rejects.toMatchObject(refused);
      expect(await report('a', 1)).toMatchObject({ seq: 1 });
      expect(await finish('small')).toMatchObject({ result: { response: 'small' } });
    });

    it('count no death when they are handed back', async () => {
      const { take, release } = newJob();
      await take('a');
      await release('b');
      expect(await take('b')).toEqual({ state: 'busy', holder: 'a', isLapsed: false });
      await release('a');
      expect(await take('b')).toEqual({ state: 'taken', attempt: 2, deaths: 0 });
    });

    it('keep the first result', async () => {
      const { take, report, finish } = newJob();
      await take('a');
      await report('a', 1);
      const kept = { result: { response: 'first', isLastWord: true }, said: 1, heard: false };
      expect(await finish('first')).toEqual(kept);
      expect(await finish('again')).toEqual(kept);
      expect(await take('b')).toEqual({ state: 'done', ...kept });
    });

    it('report progress to followers, and note whether there was one at the end', async () => {
      const { take, report, finish, follow, leave } = newJob();
      expect(await follow()).toEqual({ progress: [] });
      await take('a');
      for (const n of [1, 2, 3]) await report('a', n);
      expect((await follow()).progress).toEqual([1, 2, 3].map((n) => ({ seq: n, response: { n } })));
      expect((await follow(2)).progress).toEqual([{ seq: 3, response: { n: 3 } }]);
      expect(await report('a', 4)).toEqual({ seq: 4, isFollowed: true });
      // The caller receives the progress up to this moment, and no later progress.
      expect(await leave(3)).toEqual({ progress: [{ seq: 4, response: { n: 4 } }] });
      expect(await report('a', 5)).toEqual({ seq: 5, isFollowed: false });
      await follow(5);
      expect(await finish('done')).toMatchObject({ heard: true });
      const end = { result: { response: 'done', isLastWord: true }, heard: true };
      expect(await follow(5)).toEqual({ progress: [], end });
      expect(await leave(5)).toEqual({ progress: [], end });
    });

    it('are forgotten, and end for a worker that has the job', async () => {
      const { take, report, finish, follow, forget } = newJob();
      const gone = { response: 'gone' };
      expect(await forget(gone)).toBe(false);
      await take('a');
      await report('a', 1);
      expect(await forget()).toBe(true);
      expect(await follow()).toEqual({ progress: [] });
      await take('a');
      await report('a', 1);
      expect(await forget(gone)).toBe(true);
      expect(await forget(gone)).toBe(false);
      expect(await take('a')).toMatchObject({ state: 'done', result: gone });
      expect(await report('a', 2)).toBeUndefined();
      expect(await finish('late')).toMatchObject({ result: gone });
      expect(await follow()).toEqual({ progress: [], end: { result: gone, heard: true } });
    });

    it('decide once who tells the result: a caller that follows later does not change it', async () => {
      const { take, finish, follow, leave } = newJob();
      await take('a');
      await follow();
      await leave();
      const end = { result: { response: 'done', isLastWord: true }, heard: false };
      expect(await finish('done')).toMatchObject(end);
      expect(await follow()).toEqual({ progress: [], end });
      expect(await finish('again')).toMatchObject(end);
      expect(await leave()).toEqual({ progress: [], end });
    });

    it('keep a progress message that is repeated once', async () => {
      const { take, report, follow } = newJob();
      await take('a');
      expect(await report('a', 1, 'x')).toMatchObject({ seq: 1 });
      expect(await report('a', 1, 'x')).toMatchObject({ seq: 1 });
      expect(await report('a', 2, 'y')).toMatchObject({ seq: 2 });
      expect((await follow()).progress).toHaveLength(2);
    });

    it('are left for a minute at most when nobody begins the job', async () => {
      const { take, follow, leave, left } = newJob();
      await follow();
      expect(await left()).toBeLessThanOrEqual(60_000);
      await leave();
      expect(await left()).toBe(-2);
      await follow();
      await take('a');
      await follow();
      expect(await left()).toBeGreaterThan(60_000);
    });
  });
}
