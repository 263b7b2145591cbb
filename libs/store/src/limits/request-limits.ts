import { randomUUID } from 'node:crypto';
import type { Keys } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { takeSlotScript, useScript } from './limit-scripts.ts';

/** A slot that is taken until it is disposed. */
export interface Slot extends AsyncDisposable {
  /** Renews the slot, which would be free after its lease. */
  renew(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Limits of callers, counted over all gateways. */
export interface RequestLimits {
  /**
   * Counts one use of a kind by somebody. Returns 0, or the time in ms until the next use is possible; a refused
   * use does not count.
   */
  use(kind: string, who: string, limit: { most: number; windowMs: number }): Promise<number>;
  /** Takes one of a number of slots. Returns undefined when all are taken. */
  take(kind: string, who: string, limit: { most: number; leaseMs: number }): Promise<Slot | undefined>;
}

export function requestLimits(connection: RedisConnection, keys: Keys): RequestLimits {
  return {
    async use(kind, who, { most, windowMs }) {
      const counter = keys.limit(kind, who);
      return await connection.script<number>(...useScript.call({ counter, most, windowMs }));
    },

    async take(kind, who, { most, leaseMs }) {
      const slots = keys.limit(kind, who);
      const holder = randomUUID();
      const take = () => connection.script<number>(...takeSlotScript.call({ slots, holder, most, leaseMs }));
      if ((await take()) === 0) return undefined;
      return {
        async renew() {
          await take();
        },
        async [Symbol.asyncDispose]() {
          await connection.run((redis) => redis.zrem(slots, holder));
        },
      };
    },
  };
}
