import type { Started } from '@agentmesh/bus';

/**
 * Time before the end of the grace period at which work in hand is aborted, in ms: it needs time to hand
 * itself back.
 */
const handBackMs = 1_000;

/**
 * Stops taking work everywhere at once, waits for the work in hand, and aborts it near the end of the grace
 * period.
 */
export async function stopAll(
  started: readonly Started[],
  graceMs: number,
  stopping: AbortController,
): Promise<void> {
  const giveUp = setTimeout(() => stopping.abort(), Math.max(graceMs - handBackMs, 0));
  try {
    await Promise.all(started.map((each) => each.stop({ graceMs })));
  } finally {
    clearTimeout(giveUp);
    stopping.abort();
  }
}
