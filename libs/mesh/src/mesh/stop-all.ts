import type { Started } from '@agentmesh/bus';

/** What is left of the grace period when work in hand is told to give up: time to hand it back. */
const handBackMs = 1_000;

/** Stops taking work everywhere at once, waits for what is in hand, and near the end of the grace period aborts it. */
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
