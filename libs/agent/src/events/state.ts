import { MeshError } from '@agentmesh/protocol';

/**
 * State for callbacks and tools. Reads see the session with every write so far. Writes also go to the delta
 * that is committed with the next event. The prefix of a key names its scope: `app:`, `user:`, `temp:`, none
 * for the session.
 */
export class State {
  static readonly APP_PREFIX = 'app:';
  static readonly USER_PREFIX = 'user:';
  static readonly TEMP_PREFIX = 'temp:';

  readonly #value: Record<string, unknown>;
  readonly #delta: Record<string, unknown>;
  /** Copies of objects that were read, each with its original. */
  #copies: Map<string, { of: unknown; copy: unknown }> | undefined;
  /** By key: the value before the first write; undefined when there was none. */
  #before: Map<string, { value: unknown } | undefined> | undefined;
  #isReadonly = false;

  constructor(value: Record<string, unknown> = {}, delta: Record<string, unknown> = {}) {
    this.#value = value;
    this.#delta = delta;
  }

  /** Makes read-only state: {@link set} and {@link update} throw. */
  static readonly(value: Record<string, unknown>): State {
    const state = new State(value);
    state.#isReadonly = true;
    return state;
  }

  /**
   * Returns the value of a key. An object is returned as a copy: other readers, in this process or another,
   * see changes in it only after it is set again.
   */
  get<T>(key: string, defaultValue?: T): T | undefined {
    if (Object.hasOwn(this.#delta, key)) return this.#delta[key] as T;
    if (Object.hasOwn(this.#value, key)) return this.#copyOf(key, this.#value[key]) as T;
    return defaultValue;
  }

  #copyOf(key: string, value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const entry = this.#copies?.get(key);
    if (entry?.of === value) return entry.copy;
    const copy = structuredClone(value);
    this.#copies ??= new Map();
    this.#copies.set(key, { of: value, copy });
    return copy;
  }

  /** @throws MeshError `failed_precondition` when the state is read-only */
  set(key: string, value: unknown): void {
    if (this.#isReadonly) {
      throw new MeshError(
        'failed_precondition',
        `state key "${key}" cannot be written here: instructions and toolsets only read the state; write it in a tool or a callback`,
      );
    }
    this.#before ??= new Map();
    if (!this.#before.has(key))
      this.#before.set(key, Object.hasOwn(this.#value, key) ? { value: this.#value[key] } : undefined);
    define(this.#value, key, value);
    define(this.#delta, key, value);
  }

  /** Takes back what was written to a key, unless another writer has changed the key since. */
  takeBack(key: string): void {
    const written = this.#delta[key];
    delete this.#delta[key];
    if (!this.#before?.has(key) || this.#value[key] !== written) return;
    const before = this.#before.get(key);
    if (before) define(this.#value, key, before.value);
    else delete this.#value[key];
    this.#before.delete(key);
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#delta, key) || Object.hasOwn(this.#value, key);
  }

  update(delta: Record<string, unknown>): void {
    for (const [key, value] of Object.entries(delta)) this.set(key, value);
  }

  /** Tells whether there are uncommitted writes. */
  hasDelta(): boolean {
    return Object.keys(this.#delta).length > 0;
  }

  /** Returns a copy of all current values. */
  toRecord(): Record<string, unknown> {
    const copies = [...(this.#copies ?? [])].filter(([key, { of }]) => this.#value[key] === of);
    return {
      ...this.#value,
      ...Object.fromEntries(copies.map(([key, { copy }]) => [key, copy])),
      ...this.#delta,
    };
  }
}

/** Assigns a property, even one that an object literal would treat specially (`__proto__`). */
function define(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

export type StateScope = 'app' | 'user' | 'temp' | 'session';

/** Returns the scope that a key's prefix names. */
export function scopeOf(key: string): StateScope {
  if (key.startsWith(State.APP_PREFIX)) return 'app';
  if (key.startsWith(State.USER_PREFIX)) return 'user';
  if (key.startsWith(State.TEMP_PREFIX)) return 'temp';
  return 'session';
}

/** Returns the entries of one or more scopes, with their prefixes. */
export function pickScopes(
  state: Record<string, unknown>,
  scopes: readonly StateScope[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(state).filter(([key]) => scopes.includes(scopeOf(key))));
}
