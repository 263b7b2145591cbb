import type { InvocationRef } from '@agentmesh/agent/internal';
import type { CancelSignal } from '../mesh/cancellations.ts';
import type { Mesh } from '../mesh/mesh.ts';

/** How often a holder shows that it lives, in ms: a fraction of the time for which a session is held without a sign. */
const renewMs = 10_000;

/** Shows that the run is alive, and looks whether it shall end: the message that says so may be lost. */
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
      // The next one may succeed; a run that was taken over finds out at its next commit.
      mesh.log.debug({ err: error, ...ref }, 'could not show that a run is alive');
    }
  };
  const timer = setInterval(() => void renew(), renewMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
