import type { Schema } from '@google/genai';
import type { z } from 'zod';
import { fitSchema, note } from './gemini-keywords.ts';
import { Type } from './genai.ts';
import { followReference, type JsonSchema, type References, toJson } from './json-schema.ts';
import { isRecordSchema } from './records.ts';

const types: Record<string, Type> = {
  string: Type.STRING,
  number: Type.NUMBER,
  integer: Type.INTEGER,
  boolean: Type.BOOLEAN,
  array: Type.ARRAY,
  object: Type.OBJECT,
  null: Type.NULL,
};

/**
 * Converts a zod schema to the form of Gemini's function declarations (OpenAPI 3 style, upper-case types).
 * Optional keys and keys with a default are not required. What Gemini has no keyword for goes into the
 * description. Objects with any keys become lists of keys and values, see {@link readRecords}.
 *
 * @throws Error for types that JSON cannot hold (maps, functions, dates that are not coerced from text, …).
 */
export function zodToSchema(schema: z.ZodType): Schema {
  const { json, references } = toJson(schema);
  // A tool without parameters is an object without keys, and no record.
  const isEmpty = json.type === 'object' && Object.keys(json.properties ?? {}).length === 0;
  return fitSchema(isEmpty ? { type: Type.OBJECT, properties: {} } : toSchema(json, references));
}

function toSchema(source: JsonSchema, at: References): Schema {
  const { json, references } = followReference(source, at);
  const alternatives = json.anyOf ?? json.oneOf;
  const schema: Schema = alternatives
    ? fromAlternatives(alternatives as JsonSchema[], references)
    : fromType(json, references);
  for (const part of (json.allOf ?? []) as JsonSchema[]) addPart(schema, toSchema(part, references));
  if (json.title !== undefined) schema.title = json.title;
  if (json.description !== undefined) note(schema, json.description);
  if (json.default !== undefined) schema.default = json.default;
  return schema;
}

/** Adds a part of an intersection: a value must have the keys of all parts. */
function addPart(schema: Schema, { properties, required, anyOf, ...rest }: Schema): void {
  // An intersection of objects has no values of its own.
  if (schema.anyOf === anyValue.anyOf) delete schema.anyOf;
  Object.assign(schema, rest, anyOf !== anyValue.anyOf && anyOf && { anyOf });
  if (properties) schema.properties = { ...schema.properties, ...properties };
  if (required) schema.required = [...(schema.required ?? []), ...required];
}

function fromAlternatives(alternatives: JsonSchema[], at: References): Schema {
  const others = alternatives.filter(({ type }) => type !== 'null');
  const schemas = distinct(others.map((each) => toSchema(each, at)));
  const [only] = schemas;
  const schema = schemas.length === 1 && only ? only : { anyOf: schemas };
  return others.length === alternatives.length ? schema : { ...schema, nullable: true };
}

function distinct(schemas: readonly Schema[]): Schema[] {
  return [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
}

/** Gemini refuses a schema without a type. */
const anyValue: Schema = { anyOf: [{ type: Type.STRING }, { type: Type.NUMBER }, { type: Type.BOOLEAN }] };

function fromType(json: JsonSchema, at: References): Schema {
  const values = json.const === undefined ? json.enum : [json.const];
  if (values) return fromValues(values);
  const typeNames: unknown[] = [json.type ?? []].flat();
  const known = typeNames.flatMap((each) => (typeof each === 'string' ? (types[each] ?? []) : []));
  const others = known.filter((type) => type !== Type.NULL);
  const [type] = others.length === 0 ? known : others;
  if (type === undefined) return { ...anyValue };
  const schema: Schema = others.length > 1 ? { anyOf: others.map((each) => ({ type: each })) } : { type };
  // JSON Schema may name several types at once; `null` becomes a flag here.
  if (others.length > 0 && others.length < known.length) schema.nullable = true;
  if (isRecordSchema(json)) return fromRecord(json, at);
  addLimits(schema, json);
  if (json.prefixItems) schema.items = membersOf(json, at);
  else if (type === Type.ARRAY) schema.items = toSchema(itemsOf(json), at);
  if (json.properties) addProperties(schema, json, at);
  return schema;
}

function itemsOf({ items }: JsonSchema): JsonSchema {
  return typeof items === 'object' && !Array.isArray(items) ? (items as JsonSchema) : {};
}

function addProperties(schema: Schema, { properties = {}, required }: JsonSchema, at: References): void {
  const entries = Object.entries(properties);
  schema.properties = Object.fromEntries(
    entries.map(([key, value]) => [key, toSchema(value as JsonSchema, at)]),
  );
  if (required?.length) schema.required = [...required];
}

/** Gemini refuses objects without named keys. */
function fromRecord({ additionalProperties: values, propertyNames }: JsonSchema, at: References): Schema {
  const key = toSchema((propertyNames as JsonSchema | undefined) ?? { type: 'string' }, at);
  const value = toSchema(typeof values === 'object' ? (values as JsonSchema) : {}, at);
  return {
    type: Type.ARRAY,
    description: 'An object as a list of its keys and values.',
    items: { type: Type.OBJECT, properties: { key, value }, required: ['key', 'value'] },
  };
}

/** Gemini accepts lists of values for texts only; other values go into the description. */
function fromValues(values: readonly unknown[]): Schema {
  const byType = new Map<Type, unknown[]>();
  for (const value of values) {
    const type = types[value === null ? 'null' : typeof value] ?? Type.STRING;
    byType.set(type, [...(byType.get(type) ?? []), value]);
  }
  const nullable = byType.delete(Type.NULL);
  const schemas = [...byType].map(([type, some]): Schema => {
    if (type === Type.STRING && some.every((value) => value !== '')) return { type, enum: some.map(String) };
    const words = type === Type.STRING ? some.map((value) => JSON.stringify(value)) : some.map(String);
    return { type, description: `One of: ${words.join(', ')}.` };
  });
  const [only] = schemas;
  if (!only) return { type: Type.NULL };
  return { ...(schemas.length === 1 ? only : { anyOf: schemas }), ...(nullable && { nullable }) };
}

/** Copies the limits of a value. The API expects lengths as strings. */
function addLimits(schema: Schema, json: JsonSchema): void {
  if (json.format !== undefined) schema.format = json.format;
  // The pattern of a format says the same in a longer way.
  if (json.pattern !== undefined && json.format === undefined) schema.pattern = json.pattern;
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = json;
  if (typeof (minimum ?? above) === 'number') schema.minimum = Number(minimum ?? above);
  if (typeof (maximum ?? below) === 'number') schema.maximum = Number(maximum ?? below);
  if (above !== undefined) note(schema, `More than ${above}.`);
  if (below !== undefined) note(schema, `Less than ${below}.`);
  if (multipleOf !== undefined) note(schema, `A multiple of ${multipleOf}.`);
  for (const name of ['minLength', 'maxLength', 'minItems', 'maxItems'] as const) {
    if (json[name] !== undefined) schema[name] = String(json[name]);
  }
}

/** Returns what any member of a tuple may be. Its limits say how many members there are. */
function membersOf({ prefixItems, items: rest }: JsonSchema, at: References): Schema {
  const members = [
    ...(prefixItems as JsonSchema[]),
    ...(typeof rest === 'object' ? [rest as JsonSchema] : []),
  ];
  const schemas = distinct(members.map((each) => toSchema(each, at)));
  if (schemas.length === 0) return { ...anyValue };
  return schemas.length === 1 && schemas[0] ? schemas[0] : { anyOf: schemas };
}
