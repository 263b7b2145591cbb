import { type Advice, refusedAnswer } from './advice.ts';

interface HeldBytesOptions {
  /** Bytes that are held at the same time; one answer may be larger. */
  most: number;
  /** Longest time for which an answer waits for room, in ms. */
  waitMs: number;
  /** Number of answers of one name that wait, and of all names; further ones are refused at once. */
  mostOfOne: number;
  mostWaiting: number;
}

/** The bytes of one answer. */
export interface Hold {
  readonly bytes: number;
  /** Takes more or fewer bytes. Returns false, and changes nothing, if there is no room for more. */
  resize(bytes: number): boolean;
  /** Lets the bytes go; a second call changes nothing. */
  release(): void;
}

interface Waiter {
  name: string;
  bytes: number;
  go(): void;
}

/** The bytes of large answers that wait for their clients. Answers wait for room in the order in which they came. */
export class HeldBytes {
  readonly #options: HeldBytesOptions;
  readonly #waiting = new Set<Waiter>();
  #held = 0;

  constructor(options: HeldBytesOptions) {
    this.#options = options;
  }

  /** Tells whether others wait for room. */
  get isWanted(): boolean {
    return this.#waiting.size > 0;
  }

  /** Holds the bytes of an answer. Returns undefined if there is no room, or if others wait for it. */
  tryHold(bytes: number): Hold | undefined {
    return this.#waiting.size === 0 && this.#hasRoom(bytes) ? this.#hold(bytes) : undefined;
  }

  /**
   * Holds the bytes of an answer whose bytes are in memory.
   *
   * @throws MeshError `resource_exhausted` when there is no room
   */
  hold(bytes: number, advice: Advice): Hold {
    const hold = this.tryHold(bytes);
    if (hold) return hold;
    throw this.#tooMuch(bytes, advice);
  }

  /**
   * Waits for room for an answer whose bytes are not in memory.
   *
   * @throws MeshError `resource_exhausted` when there is no room in time, or when too many wait; the reason of the
   * signal
   */
  async wait(
    name: string,
    bytes: number,
    { signal, ...advice }: Advice & { signal: AbortSignal },
  ): Promise<Hold> {
    const hold = this.tryHold(bytes);
    if (hold) return hold;
    const { waitMs, mostOfOne, mostWaiting } = this.#options;
    const ofName = [...this.#waiting].filter((each) => each.name === name).length;
    if (ofName >= mostOfOne || this.#waiting.size >= mostWaiting) throw this.#tooMuch(bytes, advice);
    return await new Promise<Hold>((resolve, reject) => {
      const leave = (error: unknown) => {
        settle();
        reject(error);
        this.#admit();
      };
      const onAbort = () => leave(signal.reason);
      const timer = setTimeout(() => leave(this.#tooMuch(bytes, advice)), waitMs);
      const settle = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#waiting.delete(waiter);
      };
      const waiter: Waiter = {
        name,
        bytes,
        go: () => {
          settle();
          resolve(this.#hold(bytes));
        },
      };
      this.#waiting.add(waiter);
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
  }

  #hasRoom(bytes: number): boolean {
    return this.#held <= 0 || this.#held + bytes <= this.#options.most;
  }

  #hold(bytes: number): Hold {
    let count = bytes;
    this.#held += count;
    const change = (to: number) => {
      this.#held += to - count;
      count = to;
    };
    return {
      get bytes() {
        return count;
      },
      resize: (to) => {
        const isLess = to < count;
        const isFree = isLess || this.#held === count || this.#hasRoom(to - count);
        if (isFree) change(to);
        if (isLess) this.#admit();
        return isFree;
      },
      release: () => {
        change(0);
        this.#admit();
      },
    };
  }

  /** Lets those go for whom there is room, in order. */
  #admit(): void {
    for (const waiter of this.#waiting) {
      if (!this.#hasRoom(waiter.bytes)) return;
      waiter.go();
    }
  }

  #tooMuch(bytes: number, advice: Advice): Error {
    const reason = `the answer has ${bytes} bytes, and clients have ${this.#held} bytes of others to read`;
    return refusedAnswer(reason, advice);
  }
}
