/** An error that hides another one, as `await using` throws it when its owner fails too. */
interface HidingError extends Error {
  error: unknown;
  suppressed: unknown;
}

type Release = () => unknown;

/** The part of the language's `AsyncDisposableStack` that our libraries use. */
export interface OwnerStack extends AsyncDisposable {
  /** Disposes the value with the stack. Returns it. */
  use<T extends AsyncDisposable | Disposable | null | undefined>(value: T): T;
  /** Calls the function when the stack is disposed. */
  defer(release: () => PromiseLike<void> | void): void;
  /** Returns a new stack with everything that this stack holds. This stack is then empty and disposed. */
  move(): OwnerStack;
  /** Releases everything in reverse order, also after an error. @throws the error, or one that holds all */
  disposeAsync(): Promise<void>;
}

/** The stack for Node 22, whose language has none. */
export class OwnDisposableStack implements OwnerStack {
  #releases: Release[] | undefined = [];

  use<T extends AsyncDisposable | Disposable | null | undefined>(value: T): T {
    if (value === null || value === undefined) return value;
    const release = Symbol.asyncDispose in value ? value[Symbol.asyncDispose] : value[Symbol.dispose];
    this.#open().push(() => release.call(value));
    return value;
  }

  defer(release: () => PromiseLike<void> | void): void {
    this.#open().push(release);
  }

  move(): OwnDisposableStack {
    const moved = new OwnDisposableStack();
    moved.#releases = this.#open();
    this.#releases = undefined;
    return moved;
  }

  async disposeAsync(): Promise<void> {
    const releases = this.#releases?.reverse() ?? [];
    this.#releases = undefined;
    const failures: unknown[] = [];
    for (const release of releases) {
      try {
        await release();
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length > 0) throw failures.reduce(hide);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disposeAsync();
  }

  #open(): Release[] {
    if (!this.#releases) throw new ReferenceError('the stack is disposed already');
    return this.#releases;
  }
}

function hide(suppressed: unknown, error: unknown): HidingError {
  const hiding = new Error('an error was suppressed during disposal');
  return Object.assign(hiding, { name: 'SuppressedError', error, suppressed });
}

/** The language's `AsyncDisposableStack`; under Node 22 {@link OwnDisposableStack}. */
export const AsyncDisposableStack: new () => OwnerStack =
  'AsyncDisposableStack' in globalThis ? globalThis.AsyncDisposableStack : OwnDisposableStack;

/**
 * Tells whether an error holds two: that of a piece of work, and that of its disposal. Under Node 22 the compiler's
 * own code makes such errors, without the language's `SuppressedError`.
 */
export function isSuppressedError(error: Error): error is HidingError {
  return error.name === 'SuppressedError' && 'error' in error && 'suppressed' in error;
}
