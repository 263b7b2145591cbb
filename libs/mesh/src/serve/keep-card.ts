import type { AgentCard, Canary, CardInput } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { announceCard } from './announce-card.ts';

/** The time between two looks whether the card is still there, in ms. */
const lookMs = 60_000;
/** The time between two tries to write a card for which NATS had no space, in ms. */
const retryMs = 5_000;
/** The share of this time by which a look comes earlier or later, so that replicas do not look together. */
const spread = 0.2;

type Place = Pick<Mesh, 'bus' | 'log'>;

/**
 * Writes the card of an agent, and while the agent has a canary writes only the card of the leading version: the
 * canary leads when all sessions are its own, and the other version before. Writes a lost card again, as
 * {@link restoreCard}. Returns a function that ends this.
 *
 * @throws MeshError `unavailable` when the card cannot be written at first
 */
export async function keepCard({ bus, log }: Place, card: AgentCard): Promise<() => void> {
  const { name, version } = card;
  const leads = (canary: Canary | undefined) =>
    !canary || canary.ending || (canary.version === version) === (canary.percent === 100);
  let seen = bus.directory.canary(name);
  // Any card is better than none.
  const isStored =
    leads(seen) || !bus.directory.get('agent', name) ? await announceCard({ bus, log }, card) : true;
  const unwatch = bus.directory.watch(() => {
    const canary = bus.directory.canary(name);
    if (canary === seen) return;
    seen = canary;
    // Without a canary, as in a rolling update, the last replica to start has written the card.
    if (canary && leads(canary))
      bus.announce(card).catch((error) => log.warn({ err: error }, 'could not write the card'));
  });
  const isWanted = () => leads(bus.directory.canary(name));
  const endLooks = restoreCard({ bus, log }, card, { isWanted, isStored });
  return () => {
    unwatch();
    endLooks();
  };
}

/**
 * Writes the card of a service again when the bucket has lost it, and looks about every minute. Asks with a write
 * that the server refuses where there is a card, because a tool has no right to read cards. A card that an operator
 * removed leaves a mark, and stays away. Returns a function that ends this.
 *
 * @param isWanted tells whether the card is to be there now; default always
 * @param isStored false for a card that could not be written yet: it replaces the one that is there; default true
 */
export function restoreCard(
  { bus, log }: Place,
  card: CardInput,
  { isWanted = () => true, isStored = true }: { isWanted?: () => boolean; isStored?: boolean } = {},
): () => void {
  let timer: NodeJS.Timeout;
  let isOver = false;
  let onlyIfAbsent = isStored;
  const look = async () => {
    try {
      if (isWanted()) {
        await bus.announce(card, { onlyIfAbsent });
        onlyIfAbsent = true;
      }
    } catch (error) {
      log.debug({ err: error }, 'could not look for the card');
    }
    if (!isOver) lookLater();
  };
  function lookLater() {
    const ms = onlyIfAbsent ? lookMs : retryMs;
    timer = setTimeout(() => void look(), ms * (1 + spread * (2 * Math.random() - 1)));
    timer.unref();
  }
  lookLater();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
