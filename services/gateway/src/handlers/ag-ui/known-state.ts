import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

type State = Readonly<Record<string, unknown>>;

/** The largest state that a stream keeps, in characters of its JSON: ten thousand streams may be open. */
const mostKept = 2_048;

/**
 * The state of a session as the client of a stream knows it. Of a large state only a digest is kept, and nothing once
 * an event has changed it.
 */
export class KnownState {
  #kept: State | undefined;
  #digest: string | undefined;

  constructor(state: State) {
    this.#keep(state);
    if (!this.#kept) this.#digest = digestOf(state);
  }

  /** The state if it is small. */
  get kept(): State | undefined {
    return this.#kept;
  }

  /** Notes that the client has got these values. */
  change(values: State): void {
    this.#digest = undefined;
    if (this.#kept) this.#keep({ ...this.#kept, ...values });
  }

  /** Tells whether this is the state that the client knows; false also when nothing is kept any more. */
  isSame(state: State): boolean {
    if (this.#kept) return isDeepStrictEqual(state, this.#kept);
    return this.#digest !== undefined && this.#digest === digestOf(state);
  }

  #keep(state: State): void {
    this.#kept = JSON.stringify(state).length > mostKept ? undefined : state;
  }
}

function digestOf(state: State): string {
  const entries = Object.entries(state).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(entries)).digest('base64');
}
