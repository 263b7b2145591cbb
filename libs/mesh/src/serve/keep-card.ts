import type { CardInput } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/** The time between two looks whether the card is still there, in ms. */
const lookMs = 60_000;
/** The time between two tries to write a card for which NATS had no space, in ms. */
const retryMs = 5_000;
/** The share of this time by which a look comes earlier or later, so that replicas do not look together. */
const spread = 0.2;

type Place = Pick<Mesh, 'bus' | 'log'>;

/**
 * Writes the card of a service again when the bucket has lost it, and looks about every minute. Asks with a write
 * that the server refuses where there is a card, because a tool has no right to read cards. A card that an operator
 * removed leaves a mark, and stays away. Returns a function that ends this.
 *
 * @param isStored false for a card that could not be written yet: it replaces the one that is there; default true
 */
export function restoreCard(
  { bus, log }: Place,
  card: CardInput,
  { isStored = true }: { isStored?: boolean } = {},
): () => void {
  let timer: NodeJS.Timeout;
  let isOver = false;
  let onlyIfAbsent = isStored;
  const look = async () => {
    try {
      await bus.announce(card, { onlyIfAbsent });
      onlyIfAbsent = true;
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
