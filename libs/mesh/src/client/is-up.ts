import { setTimeout as delay } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/** Number of times that a replica is looked for, and the time for which NATS may be silent meanwhile, in ms. */
const maxLooks = 3;
const silenceMs = 3_000;

/** The time for which an agent that was up is not looked for again, in ms. A run that it misses waits for it. */
const upMs = 250;

/** The times at which the agents were up, by their names as services, for each bus. */
const lastUp = new WeakMap<Mesh['bus'], Map<string, number>>();

/**
 * Tells whether a replica of the agent is up, or was a moment ago. Asks a few times: after a restart of the server its clients
 * come back one by one.
 *
 * @throws MeshError `unavailable` when NATS gives no answer
 */
export async function isUp({ bus, subjects }: Mesh, agent: string): Promise<boolean> {
  const name = subjects.shownAs(agent);
  const seen = lastUp.get(bus) ?? new Map<string, number>();
  lastUp.set(bus, seen);
  if (performance.now() - (seen.get(name) ?? Number.NEGATIVE_INFINITY) < upMs) return true;
  const giveUpAt = performance.now() + silenceMs;
  for (let look = 1; ; look += 1) {
    try {
      if (await bus.isServed(name)) {
        seen.set(name, performance.now());
        return true;
      }
      if (look === maxLooks) return false;
    } catch (thrown) {
      const isTooLate = look === maxLooks || performance.now() > giveUpAt;
      if (isTooLate || !MeshError.from(thrown).retryable) throw thrown;
    }
    await delay(150);
  }
}
