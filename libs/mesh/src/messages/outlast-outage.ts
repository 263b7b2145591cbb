import { setTimeout as pause } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';

/** Time in which a failed read is begun again, and the pause before that, in ms: a failover takes some seconds. */
const outage = { patienceMs: 20_000, pauseMs: 500 };

/**
 * Reads, and reads again while a server does not answer, for 20 s at most: whoever watches a run shall not lose it to
 * a failover. `read` may run several times, and ends by itself when the signal aborts.
 *
 * @throws the error of the last read; the reason of `signal` when it aborts between two reads
 */
export async function outlastOutage<T>(read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const giveUpAt = performance.now() + outage.patienceMs;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!isOutage(error) || performance.now() > giveUpAt) throw error;
      await pause(outage.pauseMs, undefined, { ...(signal && { signal }) }).catch(() =>
        signal?.throwIfAborted(),
      );
    }
  }
}

function isOutage(error: unknown): boolean {
  return error instanceof MeshError && error.code === 'unavailable' && error.details?.closed !== true;
}
