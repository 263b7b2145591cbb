import { MeshError } from '@agentmesh/protocol';
import type { Schema } from '@google/genai';
import { z } from 'zod';
import { Type } from './genai.ts';

/** The parameters of a tool: a zod object, or a schema of `@google/genai`. */
export type ToolParameters = z.ZodObject | Schema;

/**
 * Tells whether it is a zod schema. Any zod type counts, because an object with a transform is no longer a
 * `ZodObject`.
 */
export function isZodObject(schema: unknown): schema is z.ZodObject {
  return schema instanceof z.ZodType;
}

/**
 * Converts a schema to the form that models read.
 *
 * @throws Error for a schema that cannot be shown
 */
export function toGenaiSchema(schema: ToolParameters): Schema {
  if (isZodObject(schema)) return zodToSchema(schema);
  assertPlain(schema);
  return schema;
}

/**
 * Checks that a schema that is not of zod 4 is a JSON object.
 *
 * @throws Error for schemas of other versions of zod
 */
export function assertPlain(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) throw new Error('it is not a schema');
  if ('_zod' in schema) throw new Error('it is a schema of zod/mini; make it with zod');
  if ('_def' in schema) throw new Error('it is a schema of zod 3; make it with zod 4');
}

/**
 * Checks that a schema can be shown to models, when an agent or a tool is made.
 *
 * @param owner names the schema in the error
 * @throws MeshError `invalid_argument`
 */
export function showSchema(schema: ToolParameters, owner: string): Schema {
  try {
    return toGenaiSchema(schema);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MeshError('invalid_argument', `${owner} cannot be shown to a model: ${why}`, { cause });
  }
}

/** Lists the values that do not fit, so that a model can correct them. */
export function describeMisfit(value: unknown, error: z.ZodError): string {
  const problems = error.issues.map((issue) => {
    const path = issue.path.map(String).join('.');
    const missing = issue.path.length > 0 && valueAt(value, issue.path) === undefined;
    return missing ? `missing parameter "${path}"` : `parameter "${path || '(all)'}": ${issue.message}`;
  });
  return problems.join('; ');
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined),
    value,
  );
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

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
 * Optional keys and keys with a default are not required.
 *
 * @throws Error for types that JSON cannot hold (maps, functions, dates that are not coerced from text, …).
 */
export function zodToSchema(schema: z.ZodType): Schema {
  const json = z.toJSONSchema(schema, {
    io: 'input',
    reused: 'inline',
    cycles: 'ref',
    unrepresentable: 'any',
    override: ({ zodSchema: { _zod }, jsonSchema }) => showOrRefuse(_zod.def, jsonSchema),
  });
  return toSchema(json, { root: json, path: [] });
}

/** The targets of references in a JSON schema, and the references that are being followed. */
interface References {
  root: JsonSchema;
  path: readonly string[];
}

/**
 * Replaces a reference by its target. Zod keeps parts with an id (`.meta({ id })`) beside the schema;
 * Gemini's schemas hold everything in its place.
 */
function followReference(
  json: JsonSchema,
  { root, path }: References,
): { json: JsonSchema; references: References } {
  const { $ref, ...rest } = json;
  if ($ref === undefined) return { json, references: { root, path } };
  const name = $ref.replace(/^#\/\$defs\//, '');
  const target = $ref === '#' ? root : root.$defs?.[name];
  if (path.includes($ref) || target === undefined || target === root) {
    throw new Error(
      `its part ${name === '#' ? '(all)' : name} contains itself; models accept no recursive schema`,
    );
  }
  const followed = { json: { ...target, ...rest }, references: { root, path: [...path, $ref] } };
  return followReference(followed.json, followed.references);
}

const unrepresentable = new Set([
  'bigint',
  'symbol',
  'undefined',
  'void',
  'date',
  'map',
  'set',
  'function',
  'nan',
]);

function showOrRefuse(def: z.core.$ZodTypeDef & { coerce?: boolean }, json: JsonSchema): void {
  if (!unrepresentable.has(def.type)) return;
  if (def.type !== 'date' || !def.coerce) throw new Error(`JSON has no ${def.type}`);
  json.type = 'string';
  json.format = 'date-time';
}

function toSchema(source: JsonSchema, at: References): Schema {
  const { json, references } = followReference(source, at);
  const alternatives = json.anyOf ?? json.oneOf;
  const schema: Schema = alternatives
    ? fromAlternatives(alternatives as JsonSchema[], references)
    : fromType(json, references);
  for (const part of (json.allOf ?? []) as JsonSchema[]) addPart(schema, toSchema(part, references));
  if (json.description !== undefined) {
    schema.description = [schema.description, json.description].filter(Boolean).join(' ');
  }
  if (json.default !== undefined) schema.default = json.default;
  return schema;
}

/** Adds a part of an intersection: a value must have the keys of all parts. */
function addPart(schema: Schema, { properties, required, ...rest }: Schema): void {
  Object.assign(schema, rest);
  if (properties) schema.properties = { ...schema.properties, ...properties };
  if (required) schema.required = [...(schema.required ?? []), ...required];
}

function fromAlternatives(alternatives: JsonSchema[], at: References): Schema {
  const others = alternatives.filter(({ type }) => type !== 'null');
  const [only] = others;
  const schema =
    others.length === 1 && only ? toSchema(only, at) : { anyOf: others.map((each) => toSchema(each, at)) };
  return others.length === alternatives.length ? schema : { ...schema, nullable: true };
}

function fromType(json: JsonSchema, at: References): Schema {
  const schema: Schema = {};
  const values = json.const === undefined ? json.enum : [json.const];
  const typeNames: unknown = json.type ?? (values ? typeof values[0] : undefined);
  // JSON Schema may name several types at once; `null` becomes a flag here.
  const names = Array.isArray(typeNames) ? typeNames.filter((each) => each !== 'null') : [typeNames];
  if (Array.isArray(typeNames) && names.length < typeNames.length) schema.nullable = true;
  const knownTypes = names.flatMap((each) => (typeof each === 'string' ? (types[each] ?? []) : []));
  if (knownTypes.length > 1) schema.anyOf = knownTypes.map((type) => ({ type }));
  else if (knownTypes[0]) schema.type = knownTypes[0];
  if (values) addValues(schema, values);
  addLimits(schema, json);
  if (json.prefixItems) addTuple(schema, json.prefixItems as JsonSchema[], at);
  else if (json.items && !Array.isArray(json.items)) schema.items = toSchema(json.items as JsonSchema, at);
  if (json.properties) {
    const entries = Object.entries(json.properties);
    schema.properties = Object.fromEntries(
      entries.map(([key, value]) => [key, toSchema(value as JsonSchema, at)]),
    );
    if (json.required?.length) schema.required = [...json.required];
  }
  return schema;
}

/** Copies the limits of a value. The API expects lengths as strings. */
function addLimits(schema: Schema, json: JsonSchema): void {
  if (json.format !== undefined) schema.format = json.format;
  if (json.pattern !== undefined) schema.pattern = json.pattern;
  const minimum = json.minimum ?? json.exclusiveMinimum;
  const maximum = json.maximum ?? json.exclusiveMaximum;
  if (typeof minimum === 'number') schema.minimum = minimum;
  if (typeof maximum === 'number') schema.maximum = maximum;
  for (const name of ['minLength', 'maxLength', 'minItems', 'maxItems'] as const) {
    if (json[name] !== undefined) schema[name] = String(json[name]);
  }
}

/**
 * Adds the allowed values. Gemini accepts lists of values for strings only; other values go into the
 * description.
 */
function addValues(schema: Schema, values: readonly unknown[]): void {
  if (schema.type === Type.STRING) schema.enum = values.map(String);
  else schema.description = `One of: ${values.map(String).join(', ')}.`;
}

function addTuple(schema: Schema, items: JsonSchema[], at: References): void {
  schema.items = { anyOf: items.map((each) => toSchema(each, at)) };
  schema.minItems = String(items.length);
  schema.maxItems = String(items.length);
}

/** Returns the required keys of an object schema that a value lacks. */
export function missingKeys({ required = [] }: Schema, value: unknown): string[] {
  const has = (key: string) =>
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, key) &&
    Reflect.get(value, key) !== undefined;
  return required.filter((key) => !has(key));
}
