import { setTimeout as delay } from 'node:timers/promises';
import type { InvocationRef } from '@agentmesh/agent/internal';
import { cancelInvocation } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import type { GatewayContext } from '../context/context.ts';

/** Number of tries to cancel a run that has not begun, and the pause between them, in ms. */
const maxAttempts = 50;
const pauseMs = 200;

/**
 * Cancels a run whose client has left, as soon as it has begun, so that its message is in the log. A run that no replica
 * takes is ended then.
 */
export async function cancelOnceBegun({ mesh, stopping }: GatewayContext, ref: InvocationRef): Promise<void> {
  for (let attempt = 1; !stopping.aborted; attempt += 1) {
    try {
      const untaken = attempt === maxAttempts;
      await cancelInvocation(mesh, ref, 'its client has gone away', { untaken });
      return;
    } catch (error) {
      if (MeshError.from(error).code !== 'not_found' || attempt === maxAttempts) throw error;
    }
    await delay(pauseMs, undefined, { signal: stopping }).catch(() => {});
  }
}
