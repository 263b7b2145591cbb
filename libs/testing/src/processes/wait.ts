import { setTimeout as pause } from 'node:timers/promises';

export interface UntilOptions {
  /** Give up after this many ms; default 10,000. */
  timeoutMs?: number;
  /** What is waited for, for the message: `the replica's presence`. */
  what?: string;
  /** Pause between two looks in ms; default 10. */
  intervalMs?: number;
}

type Found<T> = Exclude<T, undefined | null | false>;

/**
 * Looks until the condition gives something other than `undefined`, `null` or `false`, and returns that. A condition that
 * throws is looked at again: `until(() => expect(list).toHaveLength(3))` must therefore return something, e.g. by `|| true`.
 *
 * @throws Error that names `what`, the time, and what the last look gave
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 10_000, what = 'the condition', intervalMs = 10 }: UntilOptions = {},
): Promise<Found<T>> {
  const started = performance.now();
  for (;;) {
    const look = await lookAt(condition);
    if ('found' in look) return look.found;
    if (performance.now() - started >= timeoutMs) {
      throw new Error(`waited ${timeoutMs} ms for ${what}; the last look gave ${look.last}`, {
        cause: look.cause,
      });
    }
    await pause(intervalMs);
  }
}

async function lookAt<T>(
  condition: () => T | Promise<T>,
): Promise<{ found: Found<T> } | { last: string; cause?: unknown }> {
  try {
    const value = await condition();
    const missing = value === undefined || value === null || value === false;
    return missing ? { last: String(value) } : { found: value as Found<T> };
  } catch (error) {
    return { last: `the error "${error instanceof Error ? error.message : String(error)}"`, cause: error };
  }
}
