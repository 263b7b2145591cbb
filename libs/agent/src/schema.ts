import { type Schema, Type } from '@google/genai';
import { z } from 'zod';

/** Parameters of a tool: a zod object, or a schema as `@google/genai` has it. */
export type ToolParameters = z.ZodObject | Schema;

export function isZodObject(schema: unknown): schema is z.ZodObject {
  return schema instanceof z.ZodType && schema instanceof z.ZodObject;
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
 * @throws Error for types that JSON Schema cannot show (dates, maps, functions, …).
 */
export function zodToSchema(schema: z.ZodType): Schema {
  return toSchema(z.toJSONSchema(schema, { io: 'input', reused: 'inline', cycles: 'throw' }));
}

function toSchema(json: JsonSchema): Schema {
  const alternatives = json.anyOf ?? json.oneOf;
  const schema: Schema = alternatives ? fromAlternatives(alternatives as JsonSchema[]) : fromType(json);
  if (json.description !== undefined) schema.description = json.description;
  if (json.default !== undefined) schema.default = json.default;
  return schema;
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
  const type = json.type ?? (values ? typeof values[0] : undefined);
  const known = typeof type === 'string' ? types[type] : undefined;
  if (known) schema.type = known;
  if (values) schema.enum = values.map(String);
  if (json.format !== undefined) schema.format = json.format;
  if (json.pattern !== undefined) schema.pattern = json.pattern;
  if (typeof json.minimum === 'number') schema.minimum = json.minimum;
  if (typeof json.maximum === 'number') schema.maximum = json.maximum;
  if (json.minLength !== undefined) schema.minLength = String(json.minLength);
  if (json.maxLength !== undefined) schema.maxLength = String(json.maxLength);
  if (json.minItems !== undefined) schema.minItems = String(json.minItems);
  if (json.maxItems !== undefined) schema.maxItems = String(json.maxItems);
  if (json.items && !Array.isArray(json.items)) schema.items = toSchema(json.items as JsonSchema);
  if (json.properties) {
    const entries = Object.entries(json.properties);
    schema.properties = Object.fromEntries(
      entries.map(([key, value]) => [key, toSchema(value as JsonSchema)]),
    );
    if (json.required?.length) schema.required = [...json.required];
  }
  return schema;
}
