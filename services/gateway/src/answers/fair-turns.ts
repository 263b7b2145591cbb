import { type Advice, refusedAnswer } from './advice.ts';

export interface FairTurnsOptions {
  /** Number of turns that are taken at once. */
  atOnce: number;
  /** Longest time for which somebody waits for a turn, in ms. */
  waitMs: number;
  /** Number of waiters of one name, and of all names; further ones are refused at once. */
  mostOfOne: number;
  most: number;
}

interface Waiter {
  go(): void;
}

const tryAgain: Advice = { advice: 'try again in 1 s', mayRepeat: true };

/** A limited number of turns. Names take turns one after the other, so that one with many waiters holds up nobody. */
export class FairTurns {
  readonly #options: FairTurnsOptions;
  readonly #waiting = new Map<string, Set<Waiter>>();
  #taken = 0;
  #count = 0;

  constructor(options: FairTurnsOptions) {
    this.#options = options;
  }

  /**
   * Does the work when it is the turn of this name.
   *
   * @param advice for a client whose turn does not come
   * @throws MeshError `resource_exhausted` when too many wait, or when the turn does not come in time
   */
  async run<T>(name: string, work: () => Promise<T>, advice: Advice = tryAgain): Promise<T> {
    if (this.#taken < this.#options.atOnce) this.#taken += 1;
    else await this.#wait(name, advice);
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  async #wait(name: string, advice: Advice): Promise<void> {
    const { waitMs, mostOfOne, most } = this.#options;
    const own = this.#waiting.get(name) ?? new Set();
    if (own.size >= mostOfOne || this.#count >= most) throw tooBusy(advice);
    this.#waiting.set(name, own);
    this.#count += 1;
    await new Promise<void>((resolve, reject) => {
      const waiter = {
        go: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#remove(name, waiter);
        reject(tooBusy(advice));
      }, waitMs);
      own.add(waiter);
    });
  }

  /** Gives the turn to the name that has waited longest since its last turn. */
  #release(): void {
    const [next] = this.#waiting;
    const [waiter] = next?.[1] ?? [];
    if (!next || !waiter) {
      this.#taken -= 1;
      return;
    }
    const [name, others] = next;
    this.#remove(name, waiter);
    if (this.#waiting.delete(name)) this.#waiting.set(name, others);
    waiter.go();
  }

  #remove(name: string, waiter: Waiter): void {
    const own = this.#waiting.get(name);
    if (!own?.delete(waiter)) return;
    this.#count -= 1;
    if (own.size === 0) this.#waiting.delete(name);
  }
}

function tooBusy(advice: Advice): Error {
  return refusedAnswer('this gateway reads too many sessions at once', advice);
}
