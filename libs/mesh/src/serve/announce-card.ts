import { type CardInput, MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/**
 * Writes the card of a service that starts. While NATS has no space, a service that has a card there starts with it:
 * a restart must not depend on what the others have stored. Returns whether the card was written.
 *
 * @throws MeshError `unavailable`; `resource_exhausted` without space, for a service that has no card yet
 */
export async function announceCard(
  { bus, log }: Pick<Mesh, 'bus' | 'log'>,
  card: CardInput,
): Promise<boolean> {
  try {
    await bus.announce(card);
    return true;
  } catch (error) {
    if (MeshError.from(error).code !== 'resource_exhausted') throw error;
    // Refused where there is a card, which needs no space, and no right to read it.
    await bus.announce(card, { onlyIfAbsent: true });
    log.warn(
      { err: error, service: card.name },
      'NATS has no space for the card; the one that it has stays for now',
    );
    return false;
  }
}
