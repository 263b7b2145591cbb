/** A function that is called at a virtual time. */
export interface Due {
  at: number;
  /** The order among the functions of one time. */
  order: number;
  run: () => void;
  isOff: boolean;
}

const isBefore = (one: Due, other: Due) =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

/** A binary heap of what is due, the earliest first. */
export class EventQueue {
  readonly #heap: Due[] = [];

  push(due: Due): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(due);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up];
      if (!parent || !isBefore(due, parent)) break;
      heap[at] = parent;
      heap[up] = due;
      at = up;
    }
  }

  pop(): Due | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!first || !last || first === last) return first;
    heap[0] = last;
    this.#sink(last);
    return first;
  }

  #sink(due: Due): void {
    const heap = this.#heap;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const down = this.#isLess(right, left) ? right : left;
      const child = heap[down];
      if (!child || !isBefore(child, due)) return;
      heap[at] = child;
      heap[down] = due;
      at = down;
    }
  }

  #isLess(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    return a !== undefined && b !== undefined && isBefore(a, b);
  }
}
