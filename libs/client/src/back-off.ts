const firstMs = 250;
const longestMs = 10_000;

/** The pauses between tries: each is up to twice as long as the one before, with a random part. */
export class BackOff {
  readonly #giveUpMs: number;
  #tries = 0;
  #since = Date.now();

  /** @param giveUpMs the time without an answer after which no further try is made */
  constructor(giveUpMs: number) {
    this.#giveUpMs = giveUpMs;
  }

  /** Notes that a gateway has answered, so that the waiting is not given up. */
  noteAnswer(): void {
    this.#since = Date.now();
  }

  /** Notes a success: the next pause is short again. */
  reset(): void {
    this.#tries = 0;
    this.noteAnswer();
  }

  /** Waits before the next try. @throws the error when the time is over, or the reason of the signal */
  async wait(error: unknown, leastMs: number, signal: AbortSignal | undefined): Promise<void> {
    const most = Math.min(firstMs * 2 ** this.#tries, longestMs);
    this.#tries += 1;
    const ms = Math.max(most * (0.5 + Math.random() / 2), leastMs);
    if (Date.now() + ms - this.#since > this.#giveUpMs) throw error;
    await pause(ms, signal);
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
