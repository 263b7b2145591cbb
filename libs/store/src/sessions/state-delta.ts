import { type StateScope, scopeOf } from '@agentmesh/agent/internal';
import { type JsonEntry, jsonEntries } from '@agentmesh/protocol';

const prefixes: Record<StateScope, string> = { app: 'app:', user: 'user:', temp: 'temp:', session: '' };

export type Delta = Record<StateScope, JsonEntry[]>;

/**
 * Splits a delta by scope, with keys without their prefixes. @throws MeshError `invalid_argument` for values
 * that JSON cannot hold
 */
export function splitDelta(record: Record<string, unknown>, what: string): Delta {
  const delta: Delta = { app: [], user: [], temp: [], session: [] };
  for (const [key, json] of jsonEntries(record, what)) {
    const scope = scopeOf(key);
    delta[scope].push([key.slice(prefixes[scope].length), json]);
  }
  return delta;
}

/** Returns the state of one scope, keys with their prefix, from the flat list of a hash. */
export function stateOf(scope: StateScope, fields: readonly string[]): Record<string, unknown> {
  const entries: [string, unknown][] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    entries.push([`${prefixes[scope]}${fields[at]}`, JSON.parse(fields[at + 1] ?? 'null')]);
  }
  // `fromEntries` makes own properties even of keys that an assignment treats specially (`__proto__`).
  return Object.fromEntries(entries);
}

/** Applies a delta to a state object; the values are copies. */
export function assignDelta(state: Record<string, unknown>, record: Record<string, unknown>): void {
  for (const [key, json] of jsonEntries(record, 'the delta')) {
    const value: unknown = JSON.parse(json);
    Object.defineProperty(state, key, { value, enumerable: true, configurable: true, writable: true });
  }
}
