import { setTimeout as delay } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';

/** Pause between two looks for room, in ms. */
const pauseMs = 50;

/** The bytes of large answers that wait for their clients. */
export class HeldBytes {
  readonly #most: number;
  #held = 0;

  /** @param most bytes that are held at the same time; one answer may be larger */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Holds the bytes of an answer that has not begun, or of its first part.
   *
   * @returns a function that lets them go; a second call changes nothing
   * @throws MeshError `resource_exhausted` when too many bytes are held
   */
  hold(bytes: number, advice: string): () => void {
    if (this.#held > 0 && this.#held + bytes > this.#most) {
      throw new MeshError(
        'resource_exhausted',
        `the answer has ${bytes} bytes, and clients have ${this.#held} bytes of others to read; ${advice}`,
      );
    }
    return this.#add(bytes);
  }

  /** Holds the bytes of a further part of an answer. Returns undefined when there is no room for `waitMs`. */
  async holdNext(bytes: number, waitMs: number): Promise<(() => void) | undefined> {
    const giveUpAt = performance.now() + waitMs;
    while (this.#held > 0 && this.#held + bytes > this.#most) {
      if (performance.now() > giveUpAt) return undefined;
      await delay(pauseMs);
    }
    return this.#add(bytes);
  }

  #add(bytes: number): () => void {
    let count = bytes;
    this.#held += count;
    return () => {
      this.#held -= count;
      count = 0;
    };
  }
}
