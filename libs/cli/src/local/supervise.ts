import { setTimeout as delay } from 'node:timers/promises';

export interface SuperviseOptions {
  /** The name of the program in messages. */
  name: string;
  /** Starts the program again. */
  start: () => Promise<unknown>;
  /** Prints reports. */
  say: (text: string) => void;
  /** Ends the attempts when it is aborted. */
  signal: AbortSignal;
  /**
   * The pause before the first attempt, in ms. It doubles with each death up to `maxPauseMs`. Default 500.
   */
  pauseMs?: number;
  /** The longest pause, in ms; default 30,000. */
  maxPauseMs?: number;
  /** The life of a service after which its next pause is the first pause again, in ms; default 60,000. */
  healthyMs?: number;
}

/** Makes a function that starts a dead program again, after a pause that grows with each death. */
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
