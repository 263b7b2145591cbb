/** Length of a period, in ms, and number of refusals that are recorded in it. */
const periodMs = 60_000;
const mostRecords = 500;

/**
 * Decides which refusals become audit records. Anybody can cause refusals, and the stream of records keeps a
 * limited number: without this counter an attacker could push all other records out.
 */
export class RefusalCounter {
  readonly #now: () => number;
  readonly #seen = new Set<string>();
  #startedAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Tells whether a refusal is the first of its kind in this minute, and one of the first 500 kinds. */
  isFirst(kind: string): boolean {
    if (this.#now() - this.#startedAt >= periodMs) {
      this.#seen.clear();
      this.#startedAt = this.#now();
    }
    if (this.#seen.has(kind) || this.#seen.size >= mostRecords) return false;
    this.#seen.add(kind);
    return true;
  }
}
