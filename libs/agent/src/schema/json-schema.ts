import { z } from 'zod';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** A part of a JSON schema with the schema that it belongs to. */
export interface SchemaPart {
  json: JsonSchema;
  references: References;
}

/** The targets of references in a JSON schema, and the references that are being followed. */
export interface References {
  root: JsonSchema;
  path: readonly string[];
}

/**
 * Replaces a reference by its target. Zod keeps parts with an id (`.meta({ id })`) beside the schema;
 * Gemini's schemas hold everything in its place.
 */
export function followReference(json: JsonSchema, { root, path }: References): SchemaPart {
  const { $ref, ...rest } = json;
  if ($ref === undefined) return { json, references: { root, path } };
  const name = $ref.replace(/^#\/\$defs\//, '');
  const target = $ref === '#' ? root : root.$defs?.[name];
  if (path.includes($ref) || target === undefined || target === root) {
    throw new Error(
      // Zod numbers the parts that have no name.
      `${/^(?:#|__schema\d+)$/.test(name) ? 'it' : `its part ${name}`} contains itself; models accept no recursive schema`,
    );
  }
  const followed = { json: { ...target, ...rest }, references: { root, path: [...path, $ref] } };
  return followReference(followed.json, followed.references);
}

/**
 * Converts a zod schema to JSON schema: what a model has to send.
 *
 * @throws Error for types that JSON cannot hold (maps, functions, dates that are not coerced from text, …)
 */
export function toJson(schema: z.ZodType): SchemaPart {
  const json = z.toJSONSchema(schema, {
    io: 'input',
    reused: 'inline',
    cycles: 'ref',
    unrepresentable: 'any',
    override: ({ zodSchema: { _zod }, jsonSchema, path }) => showOrRefuse(_zod.def, jsonSchema, path),
  });
  return { json, references: { root: json, path: [] } };
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

function showOrRefuse(
  def: z.core.$ZodTypeDef & { coerce?: boolean },
  json: JsonSchema,
  path: readonly (string | number)[],
): void {
  if (!unrepresentable.has(def.type)) return;
  if (def.type !== 'date' || !def.coerce) {
    const keys = path.filter((_, at) => path[at - 1] === 'properties').join('.');
    throw new Error(`JSON has no ${def.type}${keys && ` (at ${keys})`}`);
  }
  json.type = 'string';
  json.format = 'date-time';
}
