import { setTimeout as delay } from 'node:timers/promises';

/** Waits for a time in ms. Ends early when the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}
