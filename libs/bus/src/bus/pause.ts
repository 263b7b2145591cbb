import { setTimeout as delay } from 'node:timers/promises';

/** Waits before the next attempt; ends early when the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}
