import { subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import type { Bus, WorkItem, WorkOutcome } from '../bus/bus.ts';
import { expectCode } from './expect.ts';
import type { Scene } from './world.ts';

const names = subjects();
const done: WorkOutcome = { done: true };

/** Makes a handler that takes items and never finishes them. */
function holder() {
  const held: WorkItem[] = [];
  const handler = (item: WorkItem) => {
    held.push(item);
    return new Promise<WorkOutcome>(() => {});
  };
  return { held, handler };
}

/** Makes a handler that finishes each item at once and records it. */
function recorder() {
  const items: { payload: unknown; attempt: number; key: string; at: number }[] = [];
  const handler = async (item: WorkItem) => {
    items.push({ payload: item.json(), attempt: item.attempt, key: item.key, at: performance.now() });
    return done;
  };
  return { items, payloads: () => items.map(({ payload }) => payload), handler };
}

export function describeWork({ connect, provision, kill, name }: Scene): void {
  async function fill(bus: Bus, agent: string, count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      await bus.enqueue(names.agentRun(agent, 's'), n, { messageId: `${agent}:${n}` });
    }
  }

  async function newAgent(ackWaitMs?: number): Promise<string> {
    const agent = name('agent');
    await provision([agent], ackWaitMs);
    return agent;
  }

  describe('work', () => {
    it('is done once, oldest first, also by a worker that comes later', async () => {
      const agent = await newAgent();
      const [sender, worker] = await Promise.all([connect('sender'), connect('worker')]);
      await fill(sender, agent, 20);
      const { handler, items, payloads } = recorder();
      await worker.consumeRuns(agent, handler, { maxConcurrency: 1 });
      await until(() => items.length >= 20);
      await fill(sender, agent, 21);
      await until(() => items.length >= 21);
      expect(payloads()).toEqual(Array.from({ length: 21 }, (_, n) => n));
      expect(items.every(({ attempt }) => attempt === 1)).toBe(true);
      expect(new Set(items.map(({ key }) => key)).size).toBe(21);
    });

    it('is accepted once for each message id', async () => {
      const agent = await newAgent();
      const bus = await connect('one');
      const subject = names.agentRun(agent, 's');
      const headers = { traceparent: 'tp' };
      expect(await bus.enqueue(subject, 1, { messageId: `${agent}:0`, headers })).toEqual({
        duplicate: false,
      });
      expect(await bus.enqueue(subject, 2, { messageId: `${agent}:0` })).toEqual({ duplicate: true });
      expect(await bus.enqueue(subject, 3, { messageId: `${agent}:1` })).toEqual({ duplicate: false });
      const { items, payloads, handler } = recorder();
      await bus.consumeRuns(agent, handler, { maxConcurrency: 1 });
      await until(() => items.length === 2);
      expect(payloads()).toEqual([1, 3]);
    });

    it('goes to another replica when its worker dies', async () => {
      const agent = await newAgent(500);
      const [doomed, heir] = await Promise.all([connect('w'), connect('w')]);
      const { held, handler } = holder();
      await doomed.consumeRuns(agent, handler, { maxConcurrency: 1 });
      await fill(heir, agent, 1);
      await until(() => held.length === 1);
      const second = recorder();
      await heir.consumeRuns(agent, second.handler, { maxConcurrency: 1 });
      await kill(doomed);
      await until(() => second.items.length === 1);
      expect(second.items[0]).toMatchObject({ payload: 0, attempt: 2, key: held[0]?.key });
    });

    it('stays with its worker when it takes long', async () => {
      const ackWaitMs = 300;
      const agent = await newAgent(ackWaitMs);
      const [one, two] = await Promise.all([connect('w'), connect('w')]);
      const attempts: number[] = [];
      let finished = 0;
      const slow = async ({ attempt }: WorkItem) => {
        attempts.push(attempt);
        const startedAt = performance.now();
        await until(() => performance.now() - startedAt > 2.5 * ackWaitMs);
        finished += 1;
        return done;
      };
      await one.consumeRuns(agent, slow, { maxConcurrency: 2 });
      await two.consumeRuns(agent, slow, { maxConcurrency: 1 });
      await fill(one, agent, 2);
      await until(() => finished === 2);
      expect(attempts).toEqual([1, 1]);
    });

    it('is done once by a worker whose event loop stands still for longer than the ack wait', async () => {
      const ackWaitMs = 300;
      const agent = await newAgent(ackWaitMs);
      const [sender, worker] = await Promise.all([connect('sender'), connect('worker')]);
      const taken: number[] = [];
      const release = Promise.withResolvers<WorkOutcome>();
      await worker.consumeRuns(
        agent,
        (item) => {
          taken.push(item.attempt);
          if (taken.length > 1) return Promise.resolve(done);
          const until = performance.now() + 3 * ackWaitMs;
          while (performance.now() < until);
          return release.promise;
        },
        { maxConcurrency: 2 },
      );
      await fill(sender, agent, 2);
      // The second item is done; the first one goes on.
      await until(() => taken.length >= 2);
      await new Promise((resolve) => setTimeout(resolve, 2 * ackWaitMs));
      expect(taken).toEqual([1, 1]);
      release.resolve(done);
      await new Promise((resolve) => setTimeout(resolve, 2 * ackWaitMs));
      expect(taken).toEqual([1, 1]);
    });

    it('goes to another replica at once when a replica stops, which took no items ahead of its slots', async () => {
      const agent = await newAgent();
      const [leaving, staying] = await Promise.all([connect('w'), connect('w')]);
      const { held, handler } = holder();
      const first = await leaving.consumeRuns(agent, handler, { maxConcurrency: 2 });
      await fill(staying, agent, 5);
      await until(() => held.length === 2);
      const { items, payloads, handler: record } = recorder();
      await staying.consumeRuns(agent, record, { maxConcurrency: 1 });
      await until(() => items.length === 3);
      expect(payloads()).toEqual([2, 3, 4]);
      await first.stop({ graceMs: 0 });
      await until(() => items.length === 5, { timeoutMs: 2_000 });
      expect(items.slice(3)).toMatchObject([{ attempt: 2 }, { attempt: 2 }]);
      expect(held).toHaveLength(2);
    });

    it('is finished within the grace when its replica stops', async () => {
      const agent = await newAgent();
      const bus = await connect('w');
      const release = Promise.withResolvers<WorkOutcome>();
      const started: WorkItem[] = [];
      const working = await bus.consumeRuns(
        agent,
        (item) => {
          started.push(item);
          return release.promise;
        },
        { maxConcurrency: 1 },
      );
      await fill(bus, agent, 2);
      await until(() => started.length === 1);
      const stopped = working.stop();
      release.resolve(done);
      await stopped;
      const { items, payloads, handler } = recorder();
      await bus.consumeRuns(agent, handler, { maxConcurrency: 1 });
      await until(() => items.length > 0);
      expect(payloads()).toEqual([1]);
      expect(started).toHaveLength(1);
    });

    it('never runs on more items at once than there are slots', async () => {
      const agent = await newAgent();
      const [one, two] = await Promise.all([connect('w'), connect('w')]);
      let finished = 0;
      const worker = () => {
        const load = { now: 0, most: 0 };
        const handler = async () => {
          load.now += 1;
          load.most = Math.max(load.most, load.now);
          for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
          load.now -= 1;
          finished += 1;
          return done;
        };
        return { load, handler };
      };
      const [first, second] = [worker(), worker()];
      await one.consumeRuns(agent, first.handler, { maxConcurrency: 3 });
      await two.consumeRuns(agent, second.handler, { maxConcurrency: 1 });
      await fill(one, agent, 100);
      await until(() => finished === 100);
      expect(first.load.most).toBeLessThanOrEqual(3);
      expect(second.load.most).toBe(1);
    });

    it('is spread over replicas that ask for several items at once', async () => {
      const agent = await newAgent();
      const [one, two] = await Promise.all([connect('w'), connect('w')]);
      const [first, second] = [holder(), holder()];
      await one.consumeRuns(agent, first.handler, { maxConcurrency: 8 });
      await two.consumeRuns(agent, second.handler, { maxConcurrency: 8 });
      await fill(one, agent, 16);
      await until(() => first.held.length + second.held.length === 16);
      expect([first.held.length, second.held.length]).toEqual([8, 8]);
    });

    it('finds an idle replica while all slots of another replica are busy', async () => {
      const agent = await newAgent();
      const [busy, idle] = await Promise.all([connect('w'), connect('w')]);
      const first = holder();
      await busy.consumeRuns(agent, first.handler, { maxConcurrency: 4 });
      await fill(idle, agent, 4);
      await until(() => first.held.length === 4);
      const second = recorder();
      await idle.consumeRuns(agent, second.handler, { maxConcurrency: 4 });
      await fill(idle, agent, 6);
      await until(() => second.items.length === 2);
      expect(first.held).toHaveLength(4);
    });

    it('comes again after the delay that its handler returns', async () => {
      const agent = await newAgent();
      const bus = await connect('w');
      const attempts: { n: unknown; attempt: number; at: number }[] = [];
      await bus.consumeRuns(
        agent,
        async (item) => {
          attempts.push({ n: item.json(), attempt: item.attempt, at: performance.now() });
          return attempts.length === 1 ? { done: false, delayMs: 200 } : done;
        },
        { maxConcurrency: 1 },
      );
      await fill(bus, agent, 1);
      await until(() => attempts.length === 2);
      expect((attempts[1]?.at ?? 0) - (attempts[0]?.at ?? 0)).toBeGreaterThan(150);
    });

    it('comes again a second after its handler throws, and the exception is reported', async () => {
      const agent = await newAgent();
      const problems: unknown[] = [];
      const bus = await connect('w', { onError: (error) => problems.push(error) });
      const attempts: number[] = [];
      await bus.consumeRuns(
        agent,
        () => {
          attempts.push(performance.now());
          if (attempts.length === 1) throw new Error('a defect');
          return Promise.resolve(done);
        },
        { maxConcurrency: 1 },
      );
      await fill(bus, agent, 1);
      await until(() => attempts.length === 2);
      expect((attempts[1] ?? 0) - (attempts[0] ?? 0)).toBeGreaterThan(900);
      expect(problems).toMatchObject([{ message: 'a defect' }]);
    });

    it('refuses invalid messages and options', async () => {
      const agent = await newAgent();
      const bus = await connect('w');
      const subject = names.agentRun(agent, 's');
      const large = 'x'.repeat(32 * 2 ** 20);
      await expectCode(
        bus.enqueue(subject, large, { messageId: 'a' }),
        'invalid_argument',
        /33554434 bytes .*limit of 33554432/,
      );
      await expectCode(bus.enqueue(subject, 1, { messageId: '' }), 'invalid_argument', /message id/);
      await expectCode(
        bus.consumeRuns(agent, async () => done, { maxConcurrency: 0 }),
        'invalid_argument',
        /maxConcurrency/,
      );
    });
  });
}
