import { crc32 } from 'node:zlib';

/** The record of a history, line by line. Its hash tells whether two histories are the same. */
export class Trace {
  /** The lines, if they are kept. */
  readonly lines: string[] = [];
  readonly #isKept: boolean;
  #hash = 0;
  #count = 0;

  constructor(isKept: boolean) {
    this.#isKept = isKept;
  }

  add(line: string): void {
    this.#hash = crc32(line, this.#hash);
    this.#count += 1;
    if (this.#isKept) this.lines.push(line);
  }

  /** Adds a line that says more for a reader, and that may differ between two machines: a stack. */
  addAside(line: string): void {
    if (this.#isKept) this.lines.push(line);
  }

  get hash(): string {
    return `${this.#count}-${this.#hash.toString(16).padStart(8, '0')}`;
  }
}
