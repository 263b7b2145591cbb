import { AsyncLocalStorage } from 'node:async_hooks';
import type { Due } from './event-queue.ts';
import { type Life, lifeNow } from './life.ts';
import type { World } from './world.ts';

const longestMs = 2 ** 31 - 1;

/** A timer in virtual time. It fires only while its process lives, and after the end of a stop. */
export class SimTimer {
  readonly #world: World;
  readonly #life: Life | undefined = lifeNow();
  readonly #run: () => void;
  readonly #ms: number;
  readonly #repeats: boolean;
  #due: Due | undefined;

  constructor(world: World, run: () => void, ms: number | undefined, repeats: boolean) {
    this.#world = world;
    const inContext = AsyncLocalStorage.snapshot();
    this.#run = () => inContext(run);
    this.#ms = Math.max(1, Math.min(Number(ms) || 1, longestMs));
    this.#repeats = repeats;
    this.#start();
  }

  #start(): void {
    this.#due = this.#world.at(this.#ms, this.#fire);
  }

  readonly #fire = (): void => {
    this.#due = undefined;
    if (this.#life?.dead) return;
    const pausedMs = (this.#life?.pausedUntil ?? 0) - this.#world.time;
    if (pausedMs > 0) {
      this.#due = this.#world.at(pausedMs, this.#fire);
      return;
    }
    if (this.#repeats) this.#start();
    this.#run();
  };

  close(): this {
    if (this.#due) this.#due.isOff = true;
    this.#due = undefined;
    return this;
  }

  refresh(): this {
    this.close();
    this.#start();
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** The error of `timers/promises` for an aborted signal. */
class AbortError extends Error {
  readonly code = 'ABORT_ERR';
  override readonly name = 'AbortError';

  constructor(cause: unknown) {
    super('The operation was aborted', { cause });
  }
}

/** Waits in virtual time, as `setTimeout` of `node:timers/promises` does. */
export function simDelay<T>(
  world: World,
  ms: number | undefined,
  value: T,
  { signal }: { signal?: AbortSignal } = {},
): Promise<T> {
  if (signal?.aborted) return Promise.reject(new AbortError(signal.reason));
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      timer.close();
      reject(new AbortError(signal?.reason));
    };
    const fire = () => {
      signal?.removeEventListener('abort', onAbort);
      resolve(value);
    };
    const timer = new SimTimer(world, fire, ms, false);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
