import { errorTable, frameTypes, header, messageSchema, subjectTable } from '@agentmesh/protocol';
import { z } from 'zod';
import { type BodyName, bodies, type WireBody } from './messages.ts';

export type JsonSchema = { [key: string]: unknown };
export type Draft = 'draft-2020-12' | 'draft-7';

/** The names and bodies on the wire, on which programs in other languages rely. */
export interface Contract {
  subjects: string[];
  headers: string[];
  frames: string[];
  errorCodes: string[];
  bodies: Record<string, { programs: 'write' | 'read'; schema: JsonSchema }>;
}

export const bodyNames = Object.keys(bodies) as BodyName[];

/** Returns the contract that the code keeps today. */
export function contractOfCode(): Contract {
  return {
    subjects: subjectTable.map(({ subject }) => subject),
    headers: Object.values(header),
    frames: [...frameTypes],
    errorCodes: Object.keys(errorTable),
    bodies: Object.fromEntries(
      bodyNames.map((name) => [name, { programs: bodies[name].programs, schema: schemaOf(name) }]),
    ),
  };
}

/**
 * Returns the JSON Schema of a body. A body that programs write is closed where the mesh refuses unknown fields;
 * a body that they read is open, because a later version may add fields.
 */
export function schemaOf(name: BodyName, draft: Draft = 'draft-2020-12'): JsonSchema {
  const { schema, programs }: WireBody = bodies[name];
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    target: draft,
    // A field with a default may be absent, also in what we send.
    io: 'input',
    override({ zodSchema, jsonSchema }) {
      if ((zodSchema as unknown) === messageSchema) allowText(jsonSchema);
      if (zodSchema instanceof z.ZodObject && zodSchema.def.catchall === undefined) {
        if (programs === 'write') jsonSchema.additionalProperties = false;
      }
    },
  });
  return { ...($schema !== undefined && draft === 'draft-2020-12' && { $schema }), ...rest };
}

/** A message may be its text alone. */
function allowText(jsonSchema: JsonSchema): void {
  const content = { ...jsonSchema };
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
  jsonSchema.anyOf = [{ type: 'string' }, content];
}
