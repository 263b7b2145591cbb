import { MeshError } from '@agentmesh/protocol';

/** The failures so far, for a router that selects again. */
export interface RoutingErrorContext {
  /** Keys that were tried; they are not tried again. */
  failedKeys: ReadonlySet<string>;
  /**
   * The error of the last attempt. For an agent whose model failed: an `Error` with the error event as its
   * cause.
   */
  lastError: unknown;
}

/** A function that selects an item by its key. After a failure it is called again; `undefined` gives up. */
export type Router<T, C> = (
  items: Readonly<Record<string, T>>,
  context: C,
  errorContext?: RoutingErrorContext,
) => string | undefined | Promise<string | undefined>;

/** Interchangeable items, and the router that selects among them. */
export class Routes<T, C> {
  readonly #items: Readonly<Record<string, T>>;
  readonly #router: Router<T, C>;

  /**
   * Without a router the items are tried in order.
   *
   * @throws MeshError `invalid_argument` without items
   */
  constructor(owner: string, items: Readonly<Record<string, T>>, router: Router<T, C> | undefined) {
    const keys = Object.keys(items);
    if (keys.length === 0)
      throw new MeshError(
        'invalid_argument',
        `${owner} has nothing to choose from; give it at least one item`,
      );
    this.#items = items;
    this.#router =
      router ?? ((_items, _context, failure) => keys.find((key) => !failure?.failedKeys.has(key)));
  }

  get(key: string): T | undefined {
    return Object.hasOwn(this.#items, key) ? this.#items[key] : undefined;
  }

  all(): T[] {
    return Object.values(this.#items);
  }

  /**
   * Selects the first item, or after a failure the next item; undefined when no other item shall be tried.
   *
   * @throws MeshError `invalid_argument` for an unknown key
   */
  async choose(context: C, failure?: RoutingErrorContext): Promise<{ key: string; item: T } | undefined> {
    const key = await this.#router(this.#items, context, failure);
    if (failure && (key === undefined || failure.failedKeys.has(key))) return undefined;
    const item = key === undefined ? undefined : this.get(key);
    if (key !== undefined && item !== undefined) return { key, item };
    throw new MeshError(
      'invalid_argument',
      `the router chose ${JSON.stringify(key) ?? 'nothing'}; it may choose ${Object.keys(this.#items).join(', ')}`,
      { ...(failure && { cause: failure.lastError }) },
    );
  }
}

/** Returns items by key; the items of a list get keys from their names. */
export function byKey<T>(items: Readonly<Record<string, T>> | readonly T[], nameOf: (item: T) => string) {
  if (!Array.isArray(items)) return items as Readonly<Record<string, T>>;
  return Object.fromEntries((items as readonly T[]).map((item) => [nameOf(item), item]));
}
