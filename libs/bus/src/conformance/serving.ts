import { subjects } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import type { RequestHandler } from '../bus/bus.ts';
import { echo, expectCode, gather, hanging, resultOf } from './expect.ts';
import type { Scene } from './world.ts';

const names = subjects();

/** Answers after a few turns of the event loop, so that requests overlap. */
const slowEcho: RequestHandler = async function* (request) {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  yield { type: 'result', data: request.json() };
};

export function describeServing({ connect, name }: Scene): void {
  describe('serving', () => {
    it('spreads requests over the replicas', async () => {
      const [caller, one, two] = await Promise.all([connect('caller'), connect('s'), connect('s')]);
      const subject = names.agentAsk(name('a'));
      await one.serve(subject, echo, { maxConcurrency: 1_000 });
      await two.serve(subject, echo, { maxConcurrency: 1_000 });
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, n) => gather(caller.request(subject, n))),
      );
      const replicas = new Set(answers.map((frames) => frames.at(-1)?.replica));
      expect(replicas).toEqual(new Set([one.replica, two.replica]));
    });

    it('takes the next request once a reply is sent, even while its handler still works', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      const behind = Promise.withResolvers<void>();
      const handler: RequestHandler = async function* (request) {
        try {
          yield { type: 'result', data: request.json() };
        } finally {
          await behind.promise;
        }
      };
      await callee.serve(subject, handler, { maxConcurrency: 1 });
      for (let n = 0; n < 5; n += 1) expect(await resultOf(caller.request(subject, n))).toBe(n);
      behind.resolve();
    });

    it('refuses requests over maxConcurrency at once', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      const release = Promise.withResolvers<void>();
      const handler: RequestHandler = async function* () {
        await release.promise;
        yield { type: 'result', data: 'done' };
      };
      await callee.serve(subject, handler, { maxConcurrency: 2 });
      const held = await Promise.all(
        [1, 2].map(async () => {
          const frames = caller.request(subject, {})[Symbol.asyncIterator]();
          expect((await frames.next()).value).toMatchObject({ type: 'accepted' });
          return frames;
        }),
      );
      await expectCode(gather(caller.request(subject, {})), 'resource_exhausted', /busy/);
      release.resolve();
      for (const frames of held) {
        expect((await frames.next()).value).toMatchObject({ type: 'result' });
        await frames.next();
      }
      expect(await resultOf(caller.request(subject, {}))).toBe('done');
    });

    it('loses no reply when a replica stops under load', async () => {
      const [caller, one, two] = await Promise.all([connect('caller'), connect('s'), connect('s')]);
      const subject = names.agentAsk(name('a'));
      const leaving = await one.serve(subject, slowEcho);
      await two.serve(subject, slowEcho);
      const stopped = Promise.withResolvers<void>();
      let answered = 0;
      async function client() {
        for (let n = 0; n < 25; n += 1) {
          expect(await resultOf(caller.request(subject, n))).toBe(n);
          if (++answered === 100) stopped.resolve(leaving.stop());
        }
      }
      await Promise.all(Array.from({ length: 16 }, client));
      await stopped.promise;
      await one[Symbol.asyncDispose]();
      expect(answered).toBe(400);
    });

    it('answers all accepted requests when the last replica stops, and no later ones', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      const serving = await callee.serve(subject, slowEcho);
      let answered = 0;
      let refused = 0;
      async function client() {
        while (refused === 0) {
          try {
            await resultOf(caller.request(subject, 1, { silenceMs: 2_000 }));
            if (++answered === 50) void serving.stop().then(() => callee[Symbol.asyncDispose]());
          } catch (thrown) {
            expect(thrown).toMatchObject({ message: expect.stringMatching(/nobody listens/) });
            refused += 1;
          }
        }
      }
      await Promise.all(Array.from({ length: 16 }, client));
      expect(answered).toBeGreaterThanOrEqual(50);
    });

    it('aborts requests that outlast the grace, and tells caller and handler', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      const { handler, started, signal } = hanging();
      const serving = await callee.serve(subject, handler);
      const call = gather(caller.request(subject, {}));
      call.catch(() => {});
      await started;
      await serving.stop({ graceMs: 10 });
      await expectCode(call, 'unavailable', /stops/);
      expect((await signal).aborted).toBe(true);
    });

    it('stops with its bus', async () => {
      const [caller, callee] = await Promise.all([connect('caller'), connect('callee')]);
      const subject = names.agentAsk(name('a'));
      await callee.serve(subject, echo);
      await callee[Symbol.asyncDispose]();
      await expectCode(gather(caller.request(subject, {})), 'unavailable', /nobody/);
    });
  });
}
