import type { Started } from './bus.ts';

const defaultGraceMs = 25_000;

/** A `Started` whose stop runs once, however often it is asked for. */
export function startOnce(stop: (graceMs: number) => Promise<void>): Started {
  let stopped: Promise<void> | undefined;
  return {
    stop({ graceMs = defaultGraceMs } = {}) {
      stopped ??= stop(graceMs);
      return stopped;
    },
  };
}

/** Waits for something, but not longer than given. */
export async function within(ms: number, wanted: Promise<unknown>): Promise<void> {
  const timeout = Promise.withResolvers<void>();
  const timer = setTimeout(timeout.resolve, ms);
  try {
    await Promise.race([wanted, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
