import type { Bytes } from './reply.ts';
import type { RedisCopy, SmallRedis } from './small-redis.ts';

/** A call that has written. */
interface WrittenCall {
  now: number;
  name: string;
  args: readonly Bytes[];
}

/**
 * The last calls of a server that have written, on copies of what it kept before them. Calls are carried out again
 * from a copy on, at their own times: each does the same again.
 */
export class WriteLog {
  readonly #most: number;
  readonly #server: SmallRedis;
  /** The copies, each with the calls after it until the next copy. At least `most` calls are kept. */
  #parts: { copy: RedisCopy; calls: WrittenCall[] }[];
  #isReplaying = false;

  constructor(most: number, server: SmallRedis) {
    this.#most = most;
    this.#server = server;
    this.#parts = [{ copy: server.copy(), calls: [] }];
  }

  add(call: WrittenCall): void {
    if (this.#isReplaying) return;
    const part = this.#parts.at(-1);
    part?.calls.push(call);
    if (part && part.calls.length >= this.#most)
      this.#parts = [...this.#parts.slice(-1), { copy: this.#server.copy(), calls: [] }];
  }

  /** @throws RangeError for more calls than are kept */
  takeBack(writes: number): void {
    const kept = this.#parts.reduce((sum, { calls }) => sum + calls.length, 0);
    if (writes > kept)
      throw new RangeError(`the server keeps its last ${kept} writes; it cannot take back more`);
    for (let left = writes; left > 0; left -= 1) {
      if (this.#parts.at(-1)?.calls.length === 0) this.#parts.pop();
      this.#parts.at(-1)?.calls.pop();
    }
    const { copy, calls } = this.#parts.at(-1) ?? { copy: this.#server.copy(), calls: [] };
    this.#server.restore(copy);
    this.#isReplaying = true;
    try {
      for (const { now, name, args } of calls) repeat(() => this.#server.callAt(now, name, args));
    } finally {
      this.#isReplaying = false;
    }
  }
}

/** A call that failed after a part of its writes fails again. */
function repeat(call: () => unknown): void {
  try {
    call();
  } catch {}
}
