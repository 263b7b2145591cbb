import { setTimeout as delay } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';

/** Shortest time that a stopping process has to store its results and to hand its work back, in ms. */
const closingMs = 1_000;
/** Pauses between two tries of a step, in ms: the first and the longest. */
const firstPauseMs = 50;
const longestPauseMs = 1_000;

/** Work that this process has begun: it must store the result, or hand the work back. */
export interface WorkInHand {
  /** Aborted when the process stops and gives up what is left. */
  readonly givenUp: AbortSignal;
  /** Notes work until it ends. */
  add<T>(work: Promise<T>): Promise<T>;
  /** Notes work that this process takes as a holder, until it ends. */
  addAs<T>(holder: string, work: () => Promise<T>): Promise<T>;
  /** Tells whether the work of a holder goes on. */
  holds(holder: string): boolean;
  /** Waits for the work for `withinMs` at most, and a second at least, then gives up what is left. */
  close(withinMs: number): Promise<void>;
}

export function createWorkInHand(): WorkInHand {
  const atWork = new Set<Promise<unknown>>();
  const holders = new Set<string>();
  const givingUp = new AbortController();
  return {
    givenUp: givingUp.signal,
    add(work) {
      const ended = work.catch(() => {}).finally(() => atWork.delete(ended));
      atWork.add(ended);
      return work;
    },
    async addAs(holder, work) {
      holders.add(holder);
      try {
        return await this.add(work());
      } finally {
        holders.delete(holder);
      }
    },
    holds: (holder) => holders.has(holder),
    async close(withinMs) {
      const inTime = new AbortController();
      await Promise.race([
        Promise.all(atWork),
        delay(Math.max(withinMs, closingMs), undefined, { signal: inTime.signal }).catch(() => {}),
      ]);
      inTime.abort();
      givingUp.abort(new MeshError('unavailable', 'the replica stops; try again'));
    },
  };
}

export interface TryOptions {
  /** Ends the tries. */
  signal: AbortSignal;
  log: Logger;
  /** The step for the log. */
  step: string;
  /** Tells whether a later try may succeed; default: errors that are retryable. */
  isPassing?: (error: MeshError) => boolean;
}

/**
 * Tries a step again and again until it succeeds. The step must do no harm when it is repeated.
 *
 * @throws the error of the last try, if another try cannot succeed or `signal` is aborted
 */
export async function untilDone<T>(
  run: () => Promise<T>,
  { signal, log, step, isPassing = ({ retryable }) => retryable }: TryOptions,
): Promise<T> {
  for (let tries = 1, pauseMs = firstPauseMs; ; tries += 1, pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await run();
    } catch (error) {
      if (signal.aborted || !isPassing(MeshError.from(error))) throw error;
      log[tries === 1 ? 'warn' : 'debug']({ err: error, step, tries }, 'a step failed and is tried again');
      await delay(pauseMs, undefined, { signal }).catch(() => {});
    }
  }
}
