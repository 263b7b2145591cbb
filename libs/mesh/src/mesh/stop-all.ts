import type { Started } from '@agentmesh/bus';
import { MeshError } from '@agentmesh/protocol';

/**
 * Time before the end of the grace period at which work in hand is aborted, in ms: it needs time to hand
 * itself back.
 */
const handBackMs = 1_000;

/**
 * Stops taking work everywhere at once, waits for the work in hand, and aborts it near the end of the grace
 * period. The reason of the abort says that another replica can do the work: nobody has cancelled it.
 */
export async function stopAll(
  started: readonly Started[],
  graceMs: number,
  stopping: AbortController,
): Promise<void> {
  const interrupt = () => stopping.abort(new MeshError('unavailable', 'the replica stops; try again'));
  const giveUp = setTimeout(interrupt, Math.max(graceMs - handBackMs, 0));
  try {
    await Promise.all(started.map((each) => each.stop({ graceMs })));
  } finally {
    clearTimeout(giveUp);
    interrupt();
  }
}
