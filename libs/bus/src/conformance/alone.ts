import { aloneHeader, subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import type { Scene } from './world.ts';

const names = subjects();

export function describeAlone({ connect, provision, name }: Scene): void {
  describe('a message on a queue', () => {
    it('says whether the queue had no other message of its subject', async () => {
      const agent = name('agent');
      await provision([agent]);
      const bus = await connect('one');
      const [one, another, third] = [name('session'), name('session'), name('session')];
      const send = (session: string, n: number, headers = {}) =>
        bus.enqueue(names.agentRun(agent, session), n, {
          messageId: `${agent}:${n}`,
          saysWhenAlone: n > 0,
          headers,
        });
      await send(one, 1);
      await send(one, 1);
      await send(one, 2);
      await send(another, 3);
      // Only the bus says it.
      await send(third, 0, { [aloneHeader]: '0' });
      const found: Record<string, string | undefined> = {};
      const worker = await connect('worker');
      await worker.consumeRuns(
        agent,
        async ({ headers, json }) => {
          found[String(json())] = headers[aloneHeader];
          return { done: true };
        },
        { maxConcurrency: 1 },
      );
      await until(() => Object.keys(found).length === 4);
      // Its queue is empty again as soon as the broker has the acknowledgements.
      await expect.poll(async () => (await Array.fromAsync(bus.earlierRuns(one, 1e9))).length).toBe(0);
      await send(one, 4);
      await until(() => '4' in found);
      expect(found).toEqual({ 0: undefined, 1: '0', 2: undefined, 3: '0', 4: '0' });
    });
  });
}
