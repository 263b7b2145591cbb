import { openCards } from '@agentmesh/bus';
import { busName, type ServiceManifest } from '@agentmesh/mesh';

/**
 * Removes the cards of services that were renamed or removed since the last start: their apps would otherwise
 * stay.
 */
export async function removeOtherCards(
  address: { url: string; user?: string; pass?: string; credsFile?: string },
  manifests: readonly ServiceManifest[],
): Promise<void> {
  await using cards = await openCards(address);
  const known = new Set(manifests.map(busName));
  for (const card of await cards.list())
    if (!known.has(busName(card))) await cards.remove(card.kind, card.name);
}
