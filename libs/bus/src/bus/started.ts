import type { Started } from './bus.ts';

const defaultGraceMs = 25_000;

/** Makes a `Started` that calls `stop` once, however often it is stopped. */
export function startOnce(stop: (graceMs: number) => Promise<void>): Started {
  let stopped: Promise<void> | undefined;
  return {
    stop({ graceMs = defaultGraceMs } = {}) {
      stopped ??= stop(graceMs);
      return stopped;
    },
  };
}

/** Waits until a promise resolves, or until a time in ms is over. */
export async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  const timeout = Promise.withResolvers<void>();
  const timer = setTimeout(timeout.resolve, ms);
  try {
    await Promise.race([promise, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
