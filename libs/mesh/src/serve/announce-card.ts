import { isDeepStrictEqual } from 'node:util';
import { type CardInput, cardSchema, MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/**
 * Writes the card of a service that starts. A service whose card says the same already starts also while NATS has no
 * space: a restart must not depend on what the others have stored.
 *
 * @throws MeshError `unavailable`; `resource_exhausted` for a card that is new, or says something new
 */
export async function announceCard({ bus, log }: Pick<Mesh, 'bus' | 'log'>, card: CardInput): Promise<void> {
  try {
    await bus.announce(card);
  } catch (error) {
    if (MeshError.from(error).code !== 'resource_exhausted' || !isStored(bus, card)) throw error;
    log.warn(
      { err: error, service: card.name },
      'NATS has no space for the card; the one that it has says the same',
    );
  }
}

function isStored({ directory }: Mesh['bus'], card: CardInput): boolean {
  const { replica: _replica, ...stored } = { replica: '', ...directory.get(card.kind, card.name) };
  const { replica: _own, ...own } = { replica: '', ...cardSchema.parse(JSON.parse(JSON.stringify(card))) };
  return isDeepStrictEqual(stored, own);
}
