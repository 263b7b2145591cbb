import type { Random } from './random.ts';

export interface PlanOptions<F> {
  random: Random;
  /**
   * The deck from which faults are dealt. It is shuffled again each time it is used up, so each fault comes
   * as often as it is in the deck.
   */
  deck: readonly F[];
  /** The mean time between two faults, in ms. */
  everyMs: number;
  /** The largest deviation of a pause from the mean, as a share of the mean; default 0.5. */
  spread?: number;
}

/** The next fault, and its pause after the previous one, in ms. */
export interface PlannedFault<F> {
  waitMs: number;
  fault: F;
}

/** Yields an endless plan of faults. The plan depends only on the seed, so that it can be repeated. */
export function* planFaults<F>(options: PlanOptions<F>): Generator<PlannedFault<F>, never, void> {
  const { random, deck, everyMs, spread = 0.5 } = options;
  if (deck.length === 0) throw new RangeError('a plan needs at least one fault');
  for (;;) {
    for (const fault of random.shuffle(deck)) {
      yield { waitMs: Math.round(everyMs * (1 + spread * (2 * random.next() - 1))), fault };
    }
  }
}
