import { toJson } from '@agentmesh/protocol';
import { deepFreeze } from './freeze.ts';

/** A copy of a value, and its size. */
export interface FrozenCopy<T> {
  /** Frozen at every depth; shares no object with the original. */
  copy: T;
  /** Most bytes of the copy as JSON. */
  maxBytes: number;
}

/**
 * Copies a value as writing it as JSON and reading it back does, in one pass.
 *
 * @throws MeshError `invalid_argument` as {@link toJson}
 */
export function frozenJson<T>(value: T, what: string): FrozenCopy<T> {
  const size = { bytes: 0 };
  const copy = copyPlain(value, size, 0);
  if (copy !== notPlain) return { copy: copy as T, maxBytes: size.bytes };
  const json = toJson(value, what);
  const read = JSON.parse(json) as T;
  deepFreeze(read);
  return { copy: read, maxBytes: json.length * 3 };
}

/** Stands for a value that JSON changes or refuses. */
const notPlain = Symbol('not plain JSON');

/** A deeper value may be a cycle. */
const maxDepth = 100;

/** The most bytes of a character, of a number or a constant, and of the signs around a value. */
const [charBytes, plainBytes, signBytes] = [6, 25, 4];

function copyPlain(value: unknown, size: { bytes: number }, depth: number): unknown {
  if (typeof value === 'string') {
    size.bytes += charBytes * value.length + signBytes;
    return value.toWellFormed();
  }
  size.bytes += plainBytes;
  // JSON has no negative zero.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : notPlain;
  if (typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object' || depth > maxDepth) return notPlain;
  return Array.isArray(value) ? copyList(value, size, depth) : copyObject(value, size, depth);
}

function copyList(list: readonly unknown[], size: { bytes: number }, depth: number): unknown {
  const copy: unknown[] = [];
  for (const each of list) {
    const inner = copyPlain(each, size, depth + 1);
    if (inner === notPlain) return notPlain;
    copy.push(inner);
  }
  return copy.length === 0 ? emptyList : Object.freeze(copy);
}

/** Frozen values without parts, which all copies share. */
const emptyList = Object.freeze([]);
const emptyObject = Object.freeze({});

function copyObject(from: object, size: { bytes: number }, depth: number): unknown {
  const prototype = Object.getPrototypeOf(from);
  if (prototype !== Object.prototype && prototype !== null) return notPlain;
  const keys = Object.keys(from);
  if (keys.length === 0) return emptyObject;
  const copy: Record<string, unknown> = {};
  for (const key of keys) {
    const value = (from as Record<string, unknown>)[key];
    if (value === undefined) continue;
    const inner = copyPlain(value, size, depth + 1);
    // An assignment of this key would change the prototype.
    if (inner === notPlain || key === '__proto__') return notPlain;
    copy[key] = inner;
    size.bytes += charBytes * key.length + signBytes;
  }
  return Object.freeze(copy);
}
