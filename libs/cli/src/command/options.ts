/** The options of a command as the person wrote them, by their names without dashes. */
export class Options {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>> = {}) {
    this.#values = values;
  }

  /** Returns the text of an option; undefined when it was not given and has no default. */
  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === 'string' ? value : undefined;
  }

  /** Tells whether an option without a value was given. */
  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  /** Tells whether an option was turned off: `--no-example` turns `example` off. */
  isOff(name: string): boolean {
    return this.#values[name] === false;
  }

  /** Returns all texts of an option that may be given several times. */
  list(name: string): string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.map(String) : [];
  }
}
