import { MeshError } from '@agentmesh/protocol';
import type { Redis } from 'ioredis';

/** Longest time for which one WAIT holds up the next commands on the connection, in ms. */
const waitMs = 100;

/** Runs commands and waits until enough replicas have their writes. */
export interface ReplicatedWrites {
  /**
   * Runs a command and waits for the replicas.
   *
   * @param until the time limit, as a value of `performance.now()`
   * @throws MeshError `unavailable` when the replicas did not have the write in time; Error when the
   * connection broke meanwhile: the command must be repeated, because the next server to answer may not have
   * it
   */
  carryOut<T>(command: (redis: Redis) => Promise<T>, until: number): Promise<T>;
}

/**
 * Sends WAIT on the connection of the command: it counts the replicas that have all writes of this connection
 * so far. WAIT blocks the connection, so one WAIT at a time serves all callers. On another connection WAIT
 * would count other writes, or none.
 */
export function replicatedWrites(redis: Redis, replicas: number): ReplicatedWrites {
  let breaks = 0;
  redis.on('close', () => {
    breaks += 1;
  });
  let lastWait: Promise<number> = Promise.resolve(0);
  let nextWait: Promise<number> | undefined;
  const copies = (): Promise<number> => {
    nextWait ??= lastWait
      .catch(() => 0)
      .then(() => {
        nextWait = undefined;
        lastWait = redis.wait(replicas, waitMs);
        return lastWait;
      });
    return nextWait;
  };
  return {
    async carryOut(command, until) {
      const before = breaks;
      const result = await command(redis);
      for (;;) {
        const enough = (await copies()) >= replicas;
        if (breaks !== before) throw new Error('the connection broke before replicas had the write');
        if (enough) return result;
        // The server checks the time limits of blocked clients ten times in a second.
        if (performance.now() + 2 * waitMs >= until) throw tooFew(replicas);
      }
    },
  };
}

function tooFew(replicas: number): MeshError {
  return new MeshError(
    'unavailable',
    `redis did a write, and ${replicas} of its replicas did not have it in time; check the replicas, or wait for fewer`,
  );
}
