import { MeshError } from '@agentmesh/protocol';

/** What a router is told when it is asked again. */
export interface RoutingErrorContext {
  /** Those that were tried; none of them is tried again. */
  failedKeys: ReadonlySet<string>;
  /** What the last one threw; of an agent whose model failed an `Error` with the error event as its cause. */
  lastError: unknown;
}

/** Picks one of several by its key; asked again after a failure, with `undefined` it gives up. */
export type Router<T, C> = (
  items: Readonly<Record<string, T>>,
  context: C,
  errorContext?: RoutingErrorContext,
) => string | undefined | Promise<string | undefined>;

/** Several things that can take each other's place, and who chooses among them. */
export class Routes<T, C> {
  readonly #items: Readonly<Record<string, T>>;
  readonly #router: Router<T, C>;

  /** Without a router they are tried in their order. @throws MeshError `invalid_argument` when there is nothing to choose from */
  constructor(owner: string, items: Readonly<Record<string, T>>, router: Router<T, C> | undefined) {
    const keys = Object.keys(items);
    if (keys.length === 0)
      throw new MeshError('invalid_argument', `${owner} has nothing to choose from; give it something`);
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

  /** What to try first or, after a failure, next: undefined when nothing else shall be tried. @throws MeshError `invalid_argument` */
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

/** By their keys, or in a list by a name of their own. */
export function byKey<T>(items: Readonly<Record<string, T>> | readonly T[], nameOf: (item: T) => string) {
  if (!Array.isArray(items)) return items as Readonly<Record<string, T>>;
  return Object.fromEntries((items as readonly T[]).map((item) => [nameOf(item), item]));
}
