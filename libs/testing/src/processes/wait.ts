import { setTimeout as pause } from 'node:timers/promises';

export interface UntilOptions {
  /** The time limit, in ms; default 10,000. */
  timeoutMs?: number;
  /** The name of the condition in the error: `the replica's presence`. */
  what?: string;
  /** The pause between two checks, in ms; default 10. */
  intervalMs?: number;
}

type Found<T> = Exclude<T, undefined | null | false>;

/**
 * Checks the condition until it returns a value other than `undefined`, `null` or `false`, and returns that
 * value. Checks a condition that throws again: `until(() => expect(list).toHaveLength(3))` must therefore
 * return a value, e.g. by `|| true`.
 *
 * @throws Error that names `what`, the time, and the result of the last check
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
