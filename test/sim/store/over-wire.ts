import type { Life } from '../world/life.ts';
import { type AppendEventRequest, appendEvent } from './append-event.ts';
import type { StoreWire } from './store-wire.ts';

// The methods of a store have many types; the wire carries all of them in the same way.
type Method = (...args: unknown[]) => Promise<unknown>;

/** Returns a part of the store as one process reaches it: each method, also of its members, is a call. */
export function overWire<T extends object>(wire: StoreWire, life: Life, target: T, name: string): T {
  const random = wire.wire.world.random.fork(`store/${life.name}/${name}`);
  const method = (full: string, original: Method): Method => {
    const call = <R>(carryOut: () => Promise<R>) => wire.call(life, full, random, carryOut);
    if (!full.endsWith('.appendEvent')) return (...args) => call(() => original.apply(target, args));
    const commit = (request: AppendEventRequest) => original.call(target, request) as never;
    return (request) => appendEvent(request as AppendEventRequest, commit, call);
  };
  const members = new Map<PropertyKey, unknown>();
  const wrapped = (key: PropertyKey) => {
    const value: unknown = Reflect.get(target, key, target);
    const full = `${name}.${String(key)}`;
    if (typeof value === 'function') return method(full, value as Method);
    return typeof value === 'object' && value !== null ? overWire(wire, life, value, full) : value;
  };
  return new Proxy(target, {
    get(_, key) {
      if (!members.has(key)) members.set(key, wrapped(key));
      return members.get(key);
    },
    set(_, key, value) {
      members.set(key, value);
      return true;
    },
    defineProperty(_, key, { value }) {
      members.set(key, value);
      return true;
    },
  });
}
