import { MeshError } from '@agentmesh/protocol';
import type { Schema } from '@google/genai';
import { z } from 'zod';
import { fitSchema } from './gemini-keywords.ts';
import { Type } from './genai.ts';
import { readRecords } from './records.ts';
import { zodToSchema } from './zod-to-schema.ts';

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
  return fitSchema(schema);
}

/** Checks a value of a model against a zod schema, and returns its parsed form. */
export function parseValue<S extends z.ZodType>(
  schema: S,
  value: unknown,
): z.ZodSafeParseResult<z.output<S>> {
  return schema.safeParse(readRecords(schema, value));
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
  if (Object.values(schema).some(isZodObject))
    throw new Error('it is an object of zod schemas; put it into z.object(…)');
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

/** Does the same as {@link showSchema} with the parameters of a tool, which must describe an object; default none. */
export function showParameters(parameters: ToolParameters | undefined, owner: string): Schema {
  if (parameters === undefined) return { type: Type.OBJECT, properties: {} };
  const shown = showSchema(parameters, owner);
  if (shown.type === undefined || shown.type === Type.OBJECT) return shown;
  throw new MeshError(
    'invalid_argument',
    `${owner} must describe an object, not ${shown.type}; put it into z.object(…)`,
  );
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

/** Returns the required keys of an object schema that a value lacks. */
export function missingKeys({ required = [] }: Schema, value: unknown): string[] {
  const has = (key: string) =>
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, key) &&
    Reflect.get(value, key) !== undefined;
  return required.filter((key) => !has(key));
}
