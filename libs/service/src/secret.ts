import { inspect } from 'node:util';

/** The text that is printed instead of a secret. */
export const redacted = '[redacted]';

/**
 * Text that must not be printed. String(), JSON.stringify(), util.inspect() and so every log show
 * `[redacted]`; only {@link Secret.reveal} returns the text, so that a search for `.reveal(` finds each place
 * where a secret leaves.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return redacted;
  }

  toJSON(): string {
    return redacted;
  }

  [inspect.custom](): string {
    return redacted;
  }
}
