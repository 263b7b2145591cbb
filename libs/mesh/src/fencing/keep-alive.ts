import type { InvocationRef } from '@agentmesh/agent/internal';
import type { CancelSignal } from '../mesh/cancellations.ts';
import type { Mesh } from '../mesh/mesh.ts';

/** Time between two renewals of the session's lease, in ms: a fraction of the duration of the lease. */
const renewMs = 10_000;

/**
 * Renews the lease of the run's session until the result is disposed, and cancels the run when the record of
 * the invocation says so: the message about the cancellation may be lost.
 */
export function keepAlive(
  mesh: Mesh,
  ref: InvocationRef,
  token: number,
  { cancel }: CancelSignal,
): Disposable {
  const renew = async () => {
    try {
      const { cancelled } = await mesh.sessions.leases.renew(ref, token);
      if (cancelled !== undefined) cancel(cancelled);
    } catch (error) {
      // The next renewal may succeed. A run that was taken over notices the takeover at its next commit.
      mesh.log.debug({ err: error, ...ref }, 'could not renew the lease of a run');
    }
  };
  const timer = setInterval(() => void renew(), renewMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
