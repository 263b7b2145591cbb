import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Execution } from './check/old-history.ts';

/** The outside effect of a counting tool. */
export type CountWork = (tool: string, callId: string) => Promise<void>;

const executionsKey = 'chaos:executions';
const countedKey = 'chaos:counted';
const redeliveriesKey = 'chaos:redeliveries';

/**
 * The tools' own store. It notes each execution, and counts each call id once (HSETNX), as the documents
 * advise for tools whose effects must not happen twice.
 */
export interface Effects extends Disposable {
  count(replica: string): CountWork;
  redelivered(): void;
  read(): Promise<{ executions: Execution[]; counted: string[]; redeliveries: number }>;
}

export function openEffects(redisUrl: string): Effects {
  // The client waits while the server is away, and repeats commands: each command may arrive twice without
  // harm.
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
