import { every, everySession, subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { expectCode } from './expect.ts';
import type { Scene } from './world.ts';

const names = subjects();
const someSession = { appName: 'app', userId: 'user', sessionId: 's' };

export function describeSubscriptions({ connect, name }: Scene): void {
  describe('publish and subscribe', () => {
    it('brings every message to every subscriber, in order', async () => {
      const [sender, one, two] = await Promise.all([connect('sender'), connect('one'), connect('two')]);
      const subject = names.sessionNews(someSession, name('inv'), 's');
      const seen: unknown[][] = [[], []];
      await one.subscribe(subject, (message) => seen[0]?.push(message.json()));
      await two.subscribe(subject, (message) => seen[1]?.push(message.json()));
      const sent = Array.from({ length: 100 }, (_, n) => ({ n }));
      for (const payload of sent) await sender.publish(subject, payload);
      await until(() => seen.every((list) => list.length === 100));
      expect(seen).toEqual([sent, sent]);
    });

    it('carries headers, and the subject under a wildcard', async () => {
      const bus = await connect('one');
      const ref = { appName: name('app'), userId: 'u.1', sessionId: 's 1' };
      const seen: string[] = [];
      await bus.subscribe(names.sessionEvent(everySession, every, every), ({ subject, headers }) => {
        seen.push(`${subject} ${headers.traceparent}`);
      });
      const published = names.sessionEvent(ref, 'i', 's');
      await bus.publish(published, {}, { headers: { traceparent: 'tp' } });
      await until(() => seen.includes(`${published} tp`));
    });

    it('sends payloads as JSON, so that a received payload shares nothing with the sent one', async () => {
      const bus = await connect('one');
      const subject = names.sessionNews(someSession, name('inv'), 's');
      const seen: unknown[] = [];
      await bus.subscribe(subject, (message) => seen.push(message.json()));
      const payload = { list: [1], gone: undefined, when: new Date(0) };
      await bus.publish(subject, payload);
      payload.list.push(2);
      await until(() => seen.length === 1);
      expect(seen).toEqual([{ list: [1], when: '1970-01-01T00:00:00.000Z' }]);
    });

    it('delivers nothing after stop, and continues after a subscriber throws', async () => {
      const problems: string[] = [];
      const bus = await connect('one', { onError: (_, where) => problems.push(where) });
      const subject = names.sessionNews(someSession, name('inv'), 's');
      const seen: unknown[] = [];
      const throwing = await bus.subscribe(subject, () => {
        throw new Error('a defect');
      });
      const other = await bus.subscribe(subject, (message) => seen.push(message.json()));
      await bus.publish(subject, 1);
      await until(() => seen.length === 1 && problems.length === 1);
      await throwing.stop();
      await bus.publish(subject, 2);
      await until(() => seen.length === 2);
      await other.stop();
      await other.stop();
      expect(problems).toEqual([`subscribe ${subject}`]);
    });

    it('refuses messages that cannot be sent', async () => {
      const bus = await connect('one');
      const subject = names.sessionNews(someSession, name('inv'), 's');
      for (const bad of ['a b', 'a.*', 'a.>', '', 'a..b', 'a\r\nPUB b 0']) {
        await expectCode(bus.publish(bad, 1), 'invalid_argument', /subject/);
      }
      const loop: { self?: unknown } = {};
      loop.self = loop;
      await expectCode(bus.publish(subject, loop), 'invalid_argument', /JSON/);
      await expectCode(
        bus.publish(subject, 'x'.repeat(32 * 2 ** 20)),
        'invalid_argument',
        /33554434 bytes .*limit of 33554432/,
      );
    });

    it('says unavailable when it is closed', async () => {
      const bus = await connect('one');
      expect(bus.status()).toEqual({ connected: true });
      await bus[Symbol.asyncDispose]();
      expect(bus.status()).toEqual({ connected: false });
      await expectCode(bus.publish('mesh.x', 1), 'unavailable', /closed/);
    });
  });
}
