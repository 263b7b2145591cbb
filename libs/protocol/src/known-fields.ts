import { z } from 'zod';
import { MeshError } from './errors.ts';
import { nearest } from './nearest.ts';

/**
 * Checks that an object has no field that its schema does not know, below `runConfig` either: a misspelled one would be ignored in silence.
 *
 * @throws MeshError `invalid_argument` that names each such field, and the known one that is spelled most like it
 */
export function assertKnownFields(schema: z.ZodObject, data: unknown, what: string): void {
  const unknown = unknownFields(schema, data, '');
  if (unknown.length > 0)
    throw new MeshError('invalid_argument', `${what} is not valid: ${unknown.join('; ')}`);
}

function unknownFields(schema: z.ZodObject, data: unknown, path: string): string[] {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return [];
  const known = Object.keys(schema.shape);
  return Object.entries(data).flatMap(([field, value]) => {
    const name = `${path}${field}`;
    if (field === 'runConfig' && known.includes(field)) {
      const inner = objectIn(schema.shape[field]);
      return inner ? unknownFields(inner, value, `${name}.`) : [];
    }
    if (known.includes(field)) return [];
    const meant = nearest(field, known);
    const advice = meant ? `did you mean ${path}${meant}?` : `the fields are ${known.join(', ')}`;
    return [`field ${JSON.stringify(name)} is not known; ${advice}`];
  });
}

/** The object within a schema that has a default or may be left out. */
function objectIn(schema: unknown): z.ZodObject | undefined {
  let inner = schema;
  while (inner instanceof z.ZodPrefault || inner instanceof z.ZodDefault || inner instanceof z.ZodOptional)
    inner = inner.unwrap();
  return inner instanceof z.ZodObject ? inner : undefined;
}
