import type { AgentCard, Canary } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { announceCard } from './announce-card.ts';

/**
 * Writes the card of an agent, and while the agent has a canary writes only the card of the leading version: the
 * canary leads when all sessions are its own, and the other version before. Returns a function that ends this.
 *
 * @throws MeshError `unavailable` when the card cannot be written at first
 */
export async function keepCard(
  { bus, log }: Pick<Mesh, 'bus' | 'log'>,
  card: AgentCard,
): Promise<() => void> {
  const { name, version } = card;
  const leads = (canary: Canary | undefined) =>
    !canary || canary.ending || (canary.version === version) === (canary.percent === 100);
  let seen = bus.directory.canary(name);
  // Any card is better than none.
  if (leads(seen) || !bus.directory.get('agent', name)) await announceCard({ bus, log }, card);
  return bus.directory.watch(() => {
    const canary = bus.directory.canary(name);
    if (canary === seen) return;
    seen = canary;
    // Without a canary, as in a rolling update, the last replica to start has written the card.
    if (canary && leads(canary))
      bus.announce(card).catch((error) => log.warn({ err: error }, 'could not write the card'));
  });
}
