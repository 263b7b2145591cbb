import { setTimeout as delay } from 'node:timers/promises';

export interface SuperviseOptions {
  /** Its name in messages. */
  name: string;
  /** Starts it anew. */
  start: () => Promise<unknown>;
  /** Says in words what happens. */
  say: (text: string) => void;
  /** Ends the attempts. */
  signal: AbortSignal;
  /** Pause before the first attempt, in ms; it doubles with each death up to `maxPauseMs`. Default 500. */
  pauseMs?: number;
  /** Default 30,000. */
  maxPauseMs?: number;
  /** A life of this length, in ms, resets the pause to the first one. Default 60,000. */
  healthyMs?: number;
}

/** Starts what has died again, after a pause that grows with each death. */
export function superviseStarts({
  pauseMs = 500,
  maxPauseMs = 30_000,
  healthyMs = 60_000,
  ...options
}: SuperviseOptions): (what: string) => Promise<void> {
  let deaths = 0;
  let startedAt = Number.NEGATIVE_INFINITY;
  return async function restart(what): Promise<void> {
    const { name, start, say, signal } = options;
    if (signal.aborted) return;
    deaths = performance.now() - startedAt > healthyMs ? 0 : deaths;
    const pause = Math.min(pauseMs * 2 ** deaths, maxPauseMs);
    deaths += 1;
    say(`${what}; it is started again in ${pause / 1_000} s`);
    try {
      await delay(pause, undefined, { signal });
      startedAt = performance.now();
      await start();
      say(`${name} runs again`);
    } catch (error) {
      if (signal.aborted) return;
      const why = error instanceof Error ? error.message : String(error);
      await restart(`${name} could not start: ${why.split('\n')[0]}`);
    }
  };
}
