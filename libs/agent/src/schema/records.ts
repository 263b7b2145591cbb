import type { z } from 'zod';
import { followReference, type JsonSchema, type SchemaPart, toJson } from './json-schema.ts';

/** Tells whether a schema describes objects with any keys. */
export function isRecordSchema({ type, properties = {} }: JsonSchema): boolean {
  return type === 'object' && Object.keys(properties).length === 0;
}

/**
 * Reads the objects with any keys in a value of a model, which were shown to it as lists of keys and values. A model
 * may also send the object itself.
 */
export function readRecords(schema: z.ZodType, value: unknown): unknown {
  return read(partOf(schema), value);
}

const parts = new WeakMap<z.ZodType, SchemaPart>();

function partOf(schema: z.ZodType): SchemaPart {
  const part = parts.get(schema) ?? toJson(schema);
  parts.set(schema, part);
  return part;
}

function read(part: SchemaPart, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { json, references } = followReference(part.json, part.references);
  const below = (inner: unknown, each: unknown) =>
    isObject(inner) ? read({ json: inner, references }, each) : each;
  const alternatives = [json.anyOf ?? json.oneOf ?? []].flat() as JsonSchema[];
  // A list may be what another alternative wants.
  const isClear = !Array.isArray(value) || !alternatives.some(({ type }) => type === 'array');
  const own = isClear ? alternatives.reduce((each, inner) => below(inner, each), value as unknown) : value;
  const whole = ((json.allOf ?? []) as JsonSchema[]).reduce((each, inner) => below(inner, each), own);
  if (Array.isArray(whole) && !isRecordSchema(json)) return whole.map((each) => below(json.items, each));
  const record = Array.isArray(whole) ? fromEntries(whole) : whole;
  if (!isObject(record)) return record;
  const { properties = {}, additionalProperties } = json;
  return Object.fromEntries(
    Object.entries(record).map(([key, each]) => [
      key,
      below(Object.hasOwn(properties, key) ? properties[key] : additionalProperties, each),
    ]),
  );
}

/** Returns a list of keys and values as an object; another list as it is. */
function fromEntries(list: readonly unknown[]): unknown {
  const entries = list.filter(isObject).filter(({ key }) => typeof key === 'string');
  if (entries.length < list.length) return list;
  return Object.fromEntries(entries.map(({ key, value }) => [key, value]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
