import { type Schema, Type } from '@google/genai';
import { z } from 'zod';

/** Parameters of a tool: a zod object, or a schema as `@google/genai` has it. */
export type ToolParameters = z.ZodObject | Schema;

/** Is it of zod? Whatever parses is taken: an object with a transform behind it is no `ZodObject` any more. */
export function isZodObject(schema: unknown): schema is z.ZodObject {
  return schema instanceof z.ZodType;
}

/** What models are told of a schema. @throws Error for what cannot be shown */
export function toGenaiSchema(schema: ToolParameters): Schema {
  if (isZodObject(schema)) return zodToSchema(schema);
  if ('_def' in schema) throw new Error('it is a schema of zod 3; make it with zod 4');
  return schema;
}

/** Says which values do not fit, so that a model can mend them. */
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
 * Turns a zod schema into what Gemini's function declarations take (OpenAPI 3 style, upper-case types). Optional keys and keys with a
 * default are not required.
 *
 * @throws Error for types that JSON cannot hold (maps, functions, dates that are not coerced from text, …).
 */
export function zodToSchema(schema: z.ZodType): Schema {
  return toSchema(
    z.toJSONSchema(schema, {
      io: 'input',
      reused: 'inline',
      cycles: 'throw',
      unrepresentable: 'any',
      override: ({ zodSchema: { _zod }, jsonSchema }) => showOrRefuse(_zod.def, jsonSchema),
    }),
  );
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

function toSchema(json: JsonSchema): Schema {
  const alternatives = json.anyOf ?? json.oneOf;
  const schema: Schema = alternatives ? fromAlternatives(alternatives as JsonSchema[]) : fromType(json);
  for (const part of (json.allOf ?? []) as JsonSchema[]) addPart(schema, toSchema(part));
  if (json.description !== undefined) schema.description = json.description;
  if (json.default !== undefined) schema.default = json.default;
  return schema;
}

/** An intersection: what has all the keys of both. */
function addPart(schema: Schema, { properties, required, ...rest }: Schema): void {
  Object.assign(schema, rest);
  if (properties) schema.properties = { ...schema.properties, ...properties };
  if (required) schema.required = [...(schema.required ?? []), ...required];
}

function fromAlternatives(alternatives: JsonSchema[]): Schema {
  const others = alternatives.filter(({ type }) => type !== 'null');
  const [only] = others;
  const schema = others.length === 1 && only ? toSchema(only) : { anyOf: others.map(toSchema) };
  return others.length === alternatives.length ? schema : { ...schema, nullable: true };
}

function fromType(json: JsonSchema): Schema {
  const schema: Schema = {};
  const values = json.const === undefined ? json.enum : [json.const];
  const named: unknown = json.type ?? (values ? typeof values[0] : undefined);
  // JSON Schema may name several types at once; `null` is a flag here.
  const several = Array.isArray(named) ? named.filter((each) => each !== 'null') : [named];
  if (Array.isArray(named) && several.length < named.length) schema.nullable = true;
  const known = several.flatMap((each) => (typeof each === 'string' ? (types[each] ?? []) : []));
  if (known.length > 1) schema.anyOf = known.map((type) => ({ type }));
  else if (known[0]) schema.type = known[0];
  if (values) addValues(schema, values);
  if (json.format !== undefined) schema.format = json.format;
  if (json.pattern !== undefined) schema.pattern = json.pattern;
  const minimum = json.minimum ?? json.exclusiveMinimum;
  const maximum = json.maximum ?? json.exclusiveMaximum;
  if (typeof minimum === 'number') schema.minimum = minimum;
  if (typeof maximum === 'number') schema.maximum = maximum;
  if (json.minLength !== undefined) schema.minLength = String(json.minLength);
  if (json.maxLength !== undefined) schema.maxLength = String(json.maxLength);
  if (json.minItems !== undefined) schema.minItems = String(json.minItems);
  if (json.maxItems !== undefined) schema.maxItems = String(json.maxItems);
  if (json.prefixItems) addTuple(schema, json.prefixItems as JsonSchema[]);
  else if (json.items && !Array.isArray(json.items)) schema.items = toSchema(json.items as JsonSchema);
  if (json.properties) {
    const entries = Object.entries(json.properties);
    schema.properties = Object.fromEntries(
      entries.map(([key, value]) => [key, toSchema(value as JsonSchema)]),
    );
    if (json.required?.length) schema.required = [...json.required];
  }
  return schema;
}

/** Lists of allowed values are for texts alone; of others the model is told in words. */
function addValues(schema: Schema, values: readonly unknown[]): void {
  if (schema.type === Type.STRING) schema.enum = values.map(String);
  else schema.description = `One of: ${values.map(String).join(', ')}`;
}

function addTuple(schema: Schema, items: JsonSchema[]): void {
  schema.items = { anyOf: items.map(toSchema) };
  schema.minItems = String(items.length);
  schema.maxItems = String(items.length);
}
