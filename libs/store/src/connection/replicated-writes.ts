import { MeshError } from '@agentmesh/protocol';
import type { Redis } from 'ioredis';

/** How long one WAIT may hold up what comes behind it on the connection, in ms. */
const patienceMs = 100;

/** Carries a command out and waits until enough replicas have what it wrote. */
export interface ReplicatedWrites {
  /**
   * @param until when it is given up, as `performance.now()` counts
   * @throws MeshError `unavailable` when the replicas did not have it in time; Error when the connection broke meanwhile: the command is then to
   * be repeated, as the server that answers next may be one that never had it
   */
  carryOut<T>(command: (redis: Redis) => Promise<T>, until: number): Promise<T>;
}

/**
 * WAIT on the connection that a command went over, which tells of all that the server had done by then: one at a time for all who wait, as it
 * blocks the connection. On another connection it would tell of another server's writes, or of none.
 */
export function replicatedWrites(redis: Redis, replicas: number): ReplicatedWrites {
  let breaks = 0;
  redis.on('close', () => {
    breaks += 1;
  });
  let asked: Promise<number> = Promise.resolve(0);
  let next: Promise<number> | undefined;
  const copies = (): Promise<number> => {
    next ??= asked
      .catch(() => 0)
      .then(() => {
        next = undefined;
        asked = redis.wait(replicas, patienceMs);
        return asked;
      });
    return next;
  };
  return {
    async carryOut(command, until) {
      const before = breaks;
      const result = await command(redis);
      for (;;) {
        const enough = (await copies()) >= replicas;
        if (breaks !== before) throw new Error('the connection broke before replicas had the write');
        if (enough) return result;
        // The server looks at the time of those that wait ten times in a second.
        if (performance.now() + 2 * patienceMs >= until) throw tooFew(replicas);
      }
    },
  };
}

function tooFew(replicas: number): MeshError {
  return new MeshError(
    'unavailable',
    `redis did a write, and ${replicas} of its replicas did not have it in time; see to the replicas, or wait for fewer`,
  );
}
