import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Execution } from './check/history.ts';

/** What a counting tool does to the outside world. */
export type CountWork = (tool: string, callId: string) => Promise<void>;

const executionsKey = 'chaos:executions';
const countedKey = 'chaos:counted';
const redeliveriesKey = 'chaos:redeliveries';

/**
 * The tools' own store. It notes each time that work is done, and counts each call id once (HSETNX), as a tool with effects that must not
 * happen twice is told to do.
 */
export interface Effects extends Disposable {
  count(replica: string): CountWork;
  redelivered(): void;
  read(): Promise<{ executions: Execution[]; counted: string[]; redeliveries: number }>;
}

export function openEffects(redisUrl: string): Effects {
  // Waits for a server that is away, and repeats what was on its way: each command may come twice without harm.
  const redis = new Redis(redisUrl, {
    maxRetriesPerRequest: null,
    retryStrategy: () => 100,
    enableAutoPipelining: true,
  });
  redis.on('error', () => {});
  return {
    count: (replica) => async (tool, callId) => {
      const execution: Execution & { at: number } = { tool, callId, replica, at: Date.now() };
      await redis.hset(executionsKey, randomUUID(), JSON.stringify(execution));
      await redis.hsetnx(countedKey, callId, tool);
    },
    redelivered: () => void redis.incr(redeliveriesKey).catch(() => {}),
    async read() {
      const kept = (await redis.hvals(executionsKey)).map((json): Execution & { at: number } =>
        JSON.parse(json),
      );
      const executions = kept.toSorted((one, other) => one.at - other.at);
      return {
        executions: executions.map(({ at: _at, ...execution }) => execution),
        counted: await redis.hkeys(countedKey),
        redeliveries: Number(await redis.get(redeliveriesKey)),
      };
    },
    [Symbol.dispose]: () => redis.disconnect(),
  };
}
