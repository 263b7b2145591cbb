import { subjects } from '@agentmesh/protocol';
import { jetstream } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { head } from './scripts.ts';

/** The agent whose queue the floor uses. */
export const floorAgent = 'floor_agent';

/** The driver's half of the floor. */
export interface Floor {
  /** Does the messages and commits of a durable turn with one tool call. */
  turn(): Promise<void>;
  /** Does the messages and commits of an ask. */
  ask(): Promise<void>;
  /** Does the messages and commits of steps with a call of a tool, between a process and itself. */
  steps(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens the floor on servers on which `floor-agent.ts` runs. */
export function openFloor(nats: NatsConnection, redisUrl: string): Floor {
  const redis = new Redis(redisUrl);
  redis.defineCommand('head', { numberOfKeys: 2, lua: head });
  const readHead = (Reflect.get(redis, 'head') as (...keys: string[]) => Promise<unknown>).bind(redis);
  const streams = jetstream(nats, { timeout: 5_000 });
  const payload = JSON.stringify({ message: 'x'.repeat(200) });
  return {
    async turn() {
      const invocation = crypto.randomUUID();
      const session = crypto.randomUUID();
      await readHead(`f:{${session}}:s`, `f:{${session}}:e`);
      const over = Promise.withResolvers<void>();
      let seen = 0;
      const subscription = nats.subscribe(`floor.invocation.${invocation}`, {
        callback(_error, msg) {
          msg.json();
          seen += 1;
          // Four events and the end.
          if (seen === 5) over.resolve();
        },
      });
      const all = headers();
      all.set('traceparent', '00-11111111111111111111111111111111-1111111111111111-01');
      const command = JSON.stringify({ invocation, session, message: 'What is the price of GOOG?' });
      const subject = subjects().agentRun(floorAgent, session);
      const stored = streams.publish(subject, command, { headers: all, msgID: invocation });
      await Promise.all([stored, over.promise]);
      subscription.unsubscribe();
    },
    async ask() {
      const reply = await nats.request('floor.ask', payload, { timeout: 5_000 });
      const { text } = reply.json<{ text: string }>();
      if (text.length !== 200) throw new Error('the floor answered something else');
    },
    async steps(count) {
      await nats.request('floor.steps', JSON.stringify(count), { timeout: 5_000 });
    },
    async close() {
      await redis.quit();
    },
  };
}
