import { MeshError } from '@agentmesh/protocol';
import { z } from 'zod';
import { assertPlain, describeMisfit, missingKeys } from './schema.ts';

/** The schema of a person's answer: a zod schema, or a JSON schema (draft 2020-12, lower-case types). */
export type AnswerSchema = z.ZodType | JsonSchema;

/** A JSON schema as it is sent with a question. */
export type JsonSchema = Record<string, unknown>;

/**
 * Converts a schema to the JSON schema for the wire, and checks that answers can be checked against it.
 *
 * @param owner names the option in the error
 * @throws MeshError `invalid_argument` for a schema that JSON schema cannot express, or that we cannot check
 */
export function toAnswerSchema(schema: AnswerSchema, owner: string): JsonSchema {
  try {
    if (!(schema instanceof z.ZodType)) assertPlain(schema);
    const { $schema: _draft, ...json } =
      schema instanceof z.ZodType ? z.toJSONSchema(schema, { io: 'input' }) : schema;
    z.fromJSONSchema(json);
    return json;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MeshError('invalid_argument', `${owner} must be a zod schema or a JSON schema: ${why}`, {
      cause,
    });
  }
}

/** Describes why a value does not fit a schema, each field by its path; undefined when it fits. */
export function misfitOf(schema: JsonSchema, value: unknown): string | undefined {
  const { error } = z.fromJSONSchema(schema).safeParse(value);
  if (error) return describeMisfit(value, error);
  // Zod does not report a missing key whose schema allows any value.
  const missing = missingKeys({ required: requiredKeys(schema) }, value);
  return missing.length === 0 ? undefined : missing.map((key) => `missing parameter "${key}"`).join('; ');
}

function requiredKeys({ required }: JsonSchema): string[] {
  return Array.isArray(required) ? required.filter((key) => typeof key === 'string') : [];
}
