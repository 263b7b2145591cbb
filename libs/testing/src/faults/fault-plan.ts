import type { Random } from './random.ts';

export interface PlanOptions<F> {
  random: Random;
  /** Faults are dealt from this deck, shuffled anew each time it is used up: each one comes as often as it is in it. */
  deck: readonly F[];
  /** Mean time between two faults, in ms. */
  everyMs: number;
  /** How far from the mean a pause may be, as a share of it; default 0.5. */
  spread?: number;
}

/** What goes wrong next, and how long after the one before, in ms. */
export interface PlannedFault<F> {
  waitMs: number;
  fault: F;
}

/** An endless plan of faults. It follows from the seed alone, so that it can be played again. */
export function* planFaults<F>(options: PlanOptions<F>): Generator<PlannedFault<F>, never, void> {
  const { random, deck, everyMs, spread = 0.5 } = options;
  if (deck.length === 0) throw new RangeError('a plan needs at least one fault');
  for (;;) {
    for (const fault of random.shuffle(deck)) {
      yield { waitMs: Math.round(everyMs * (1 + spread * (2 * random.next() - 1))), fault };
    }
  }
}
