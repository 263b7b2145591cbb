import { MeshError } from '@agentmesh/protocol';
import { abortError } from '../bus/when-connected.ts';

/** A limit on the bytes that a process holds at once. */
export interface ByteBudget {
  /**
   * Waits until the bytes are free; waiting callers are served in order. Returns a function that gives the
   * bytes back.
   *
   * @throws MeshError `resource_exhausted` when they are not free in time, or the reason of the signal
   */
  take(bytes: number, signal?: AbortSignal): Promise<() => void>;
}

interface Waiting {
  bytes: number;
  go(): void;
}

/** @param limit in bytes; a larger request is granted only when no other bytes are held */
export function createByteBudget(limit: number, longestWaitMs = 30_000): ByteBudget {
  const queue: Waiting[] = [];
  let held = 0;

  const isFree = (bytes: number) => held === 0 || held + bytes <= limit;

  function next() {
    for (let first = queue[0]; first && isFree(first.bytes); first = queue[0]) {
      queue.shift();
      held += first.bytes;
      first.go();
    }
  }

  function releaseOf(bytes: number) {
    let remaining = bytes;
    return () => {
      held -= remaining;
      remaining = 0;
      next();
    };
  }

  async function waitFor(bytes: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { bytes, go: resolve };
    queue.push(waiting);
    const leave = (error: unknown) => {
      const at = queue.indexOf(waiting);
      if (at < 0) return;
      queue.splice(at, 1);
      reject(error);
      // A smaller request behind this request may fit into the budget now.
      next();
    };
    const onAbort = () => leave(abortError(signal?.reason));
    const timer = setTimeout(() => leave(exhausted(limit)), longestWaitMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  return {
    async take(bytes, signal) {
      if (queue.length === 0 && isFree(bytes)) held += bytes;
      else await waitFor(bytes, signal);
      return releaseOf(bytes);
    },
  };
}

function exhausted(limit: number): MeshError {
  return new MeshError(
    'resource_exhausted',
    `the replica holds ${limit} bytes of large messages, which is all that it takes at once; try again, or send less`,
  );
}
