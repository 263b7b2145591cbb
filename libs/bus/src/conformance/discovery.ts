import { type Card, cardSchema, every, header, subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { ask, echo, expectCode, gather, textOf } from './expect.ts';
import type { Scene } from './world.ts';

const names = subjects();

function agentCard(name: string, description = ''): Card {
  return cardSchema.parse({ kind: 'agent', name, description });
}

export function describeDiscovery({ connect, openLink, provision, kill, name }: Scene): void {
  describe('cards', () => {
    it('reach connected and later services, and outlive their writers', async () => {
      await provision([]);
      const agent = name('agent');
      const [writer, reader] = await Promise.all([connect('writer'), connect('reader')]);
      expect(reader.directory.get('agent', agent)).toBeUndefined();
      let changes = 0;
      const unwatch = reader.directory.watch(() => {
        changes += 1;
      });
      const before = changes;
      await writer.announce(agentCard(agent, 'first'));
      await until(() => reader.directory.get('agent', agent)?.description === 'first');
      expect(changes).toBeGreaterThan(before);
      unwatch();
      await writer.announce(agentCard(agent, 'second'));
      await until(() => reader.directory.get('agent', agent)?.description === 'second');
      await writer[Symbol.asyncDispose]();
      const later = await connect('later');
      expect(later.directory.get('agent', agent)).toEqual(agentCard(agent, 'second'));
      expect(later.directory.list('agent')).toContainEqual(agentCard(agent, 'second'));
      expect(later.directory.get('tool', agent)).toBeUndefined();
      let told = 0;
      later.directory.watch(() => {
        told += 1;
      });
      expect(told).toBe(1);
    });

    it('are written where they are absent, and replace no card that is there', async () => {
      await provision([]);
      const [there, absent] = [name('there'), name('absent')];
      const [writer, reader] = await Promise.all([connect('writer'), connect('reader')]);
      await writer.announce(agentCard(there, 'first'));
      await writer.announce(agentCard(there, 'second'), { onlyIfAbsent: true });
      await writer.announce(agentCard(absent, 'third'), { onlyIfAbsent: true });
      await until(() => reader.directory.get('agent', absent)?.description === 'third');
      expect(reader.directory.get('agent', there)?.description).toBe('first');
      const later = await connect('later');
      expect(later.directory.get('agent', there)?.description).toBe('first');
      await writer.announce(agentCard(there, 'second'));
      await until(() => reader.directory.get('agent', there)?.description === 'second');
    });

    it('are left out and reported when they cannot be read or lie under the key of another', async () => {
      await provision([]);
      const [good, bad, liar] = [name('good'), name('bad'), name('liar')];
      const problems: string[] = [];
      const reader = await connect('reader', { onError: (error) => problems.push(String(error)) });
      const link = await openLink();
      await link.putCard(names.cardKey('agent', bad), new TextEncoder().encode('{"kind":"agent"'));
      const lie = JSON.stringify(agentCard(good));
      await link.putCard(names.cardKey('agent', liar), new TextEncoder().encode(lie));
      await until(() => problems.length >= 2);
      expect(reader.directory.get('agent', bad)).toBeUndefined();
      expect(reader.directory.get('agent', good)).toBeUndefined();
      await reader.announce(agentCard(good, 'here'));
      await until(() => reader.directory.get('agent', good)?.description === 'here');
    });
  });

  describe('the services protocol', () => {
    it('shows services, their endpoints and their counters', async () => {
      const [service, caller, link] = await Promise.all([connect('s'), connect('c'), openLink()]);
      const agent = name('agent');
      const subject = names.agentAsk(agent);
      const fail = names.toolCall(agent);
      await service.serve(subject, echo);
      await service.serve(fail, () => {
        throw new Error('a defect');
      });
      const info = { kind: 'agent', name: agent, version: '1.2.3', description: 'answers' } as const;
      const registered = await service.register(info, [subject, fail]);
      const identity = {
        name: agent,
        id: service.replica,
        version: '1.2.3',
        metadata: { kind: 'agent', name: agent, replica: service.replica },
      };

      const inquire = async (srv: string) => {
        const replies = await ask(link, srv, '');
        return until(() =>
          replies.map((reply) => JSON.parse(textOf(reply))).find(({ id }) => id === service.replica),
        );
      };
      const type = (verb: string) => `io.nats.micro.v1.${verb}_response`;
      expect(await inquire('$SRV.PING')).toEqual({ type: type('ping'), ...identity });
      expect(await inquire(`$SRV.PING.${agent}.${service.replica}`)).toEqual({
        type: type('ping'),
        ...identity,
      });
      expect(await inquire(`$SRV.INFO.${agent}`)).toEqual({
        type: type('info'),
        ...identity,
        description: 'answers',
        endpoints: [
          { name: 'ask', subject, queue_group: 'q', metadata: {} },
          { name: 'call', subject: fail, queue_group: 'q', metadata: {} },
        ],
      });

      for (const n of [1, 2, 3]) await gather(caller.request(subject, n));
      await expectCode(gather(caller.request(fail, 1)), 'internal');
      const stats = await inquire(`$SRV.STATS.${agent}`);
      expect(stats).toMatchObject({
        type: type('stats'),
        ...identity,
        started: expect.stringMatching(/^2.*Z$/),
      });
      expect(stats.endpoints).toMatchObject([
        { name: 'ask', subject, queue_group: 'q', num_requests: 3, num_errors: 0, last_error: '' },
        { name: 'call', num_requests: 1, num_errors: 1, last_error: 'internal: internal error' },
      ]);
      // A ping that asks for them gets the counters, and no text of an error.
      const counted = await ask(link, `$SRV.PING.${agent}`, '', { [header.accept]: 'stats' });
      await until(() => counted.length > 0, { what: 'the counters' });
      expect(JSON.parse(textOf(counted[0])).endpoints).toMatchObject([
        { num_requests: 3 },
        { num_errors: 1, last_error: '' },
      ]);
      const [{ processing_time: total, average_processing_time: average }] = stats.endpoints;
      expect(total).toBeGreaterThan(0);
      expect(average).toBe(Math.round(total / 3));

      await registered.stop();
      expect(await caller.isServed(agent)).toBe(false);
    });

    it('counts the items of a queue under its pattern, once each, when they are done', async () => {
      const agent = name('agent');
      await provision([agent]);
      const [service, link] = await Promise.all([connect('s'), openLink()]);
      const run = names.agentRun(agent, every);
      await service.register({ kind: 'agent', name: agent, version: '1.0.0', description: '' }, [run]);
      let deliveries = 0;
      await service.consumeRuns(
        agent,
        async () => {
          deliveries += 1;
          return deliveries === 1 ? { done: false, delayMs: 1 } : { done: true };
        },
        { maxConcurrency: 1 },
      );
      for (const n of [1, 2])
        await service.enqueue(names.agentRun(agent, `s${n}`), n, { messageId: `${agent}:${n}` });
      await until(() => deliveries === 3);
      const counted = await until(async () => {
        const replies = await ask(link, `$SRV.STATS.${agent}`, '');
        const reply = await until(() => replies[0]);
        const [endpoint] = JSON.parse(textOf(reply)).endpoints;
        return endpoint.num_requests >= 2 && endpoint;
      });
      expect(counted).toMatchObject({ name: 'run', subject: run, num_requests: 2, num_errors: 0 });
    });

    it('tells whether a service is served', async () => {
      const [service, caller] = await Promise.all([connect('s'), connect('c')]);
      const agent = name('agent');
      expect(await caller.isServed(agent)).toBe(false);
      await service.register({ kind: 'agent', name: agent, version: '1.0.0', description: '' }, []);
      expect(await caller.isServed(agent)).toBe(true);
      await service[Symbol.asyncDispose]();
      expect(await caller.isServed(agent)).toBe(false);
      await expectCode(caller.isServed('a.b'), 'invalid_argument', /name/);
    });

    it('tells whether the process of a replica is gone, also after its service has stopped', async () => {
      const [service, caller] = await Promise.all([connect('s'), connect('c')]);
      const tool = name('tool');
      const registered = await service.register(
        { kind: 'tool', name: tool, version: '1.0.0', description: '', holds: (holder) => holder === 'busy' },
        [],
      );
      const isGone = (replica: string, holder?: string) => caller.isGone(tool, replica, holder);
      expect(await isGone(service.replica, 'busy')).toBe(false);
      expect(await isGone(service.replica, 'done')).toBe(true);
      expect(await isGone(service.replica)).toBe(false);
      await until(() => isGone('s-1-00000000'));
      await registered.stop();
      expect(await caller.isServed(tool)).toBe(false);
      expect(await isGone(service.replica)).toBe(false);
      expect(await isGone(service.replica, 'busy')).toBe(false);
      await kill(service);
      await until(() => isGone(service.replica));
      await expectCode(caller.isGone('a.b', service.replica), 'invalid_argument', /name/);
    });
  });
}
