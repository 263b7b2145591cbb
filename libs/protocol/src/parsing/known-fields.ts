import type { Part } from '@google/genai';
import { z } from 'zod';
import { MeshError } from '../errors/mesh-error.ts';
import { nearest } from './nearest.ts';

/** The fields of a part of a message. Newer models may have more. */
const partFields: readonly (keyof Part)[] = [
  'text',
  'thought',
  'thoughtSignature',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'videoMetadata',
  'mediaResolution',
  'toolCall',
  'toolResponse',
  'partMetadata',
];
/** The largest difference in length between a misspelled name and the right one, in characters. */
const typoLength = 2;

/** The fields with a message of a conversation. */
const messageFields = ['message', 'userContent'];

/**
 * Refuses an object with a field that its schema does not know, also in the objects below it and in messages.
 * Otherwise a misspelled field would be ignored in silence.
 *
 * @throws MeshError `invalid_argument` that names each such field, and the known field with the most similar
 * name
 */
export function assertKnownFields(schema: z.ZodObject, data: unknown, what: string): void {
  const unknown = unknownFields(schema, data, '');
  if (unknown.length > 0)
    throw new MeshError('invalid_argument', `${what} is not valid: ${unknown.join('; ')}`);
}

/**
 * Refuses an object with a misspelled field, also in the objects below it and in its message. Other unknown fields pass:
 * a strict schema refuses them, and newer models have new kinds of parts.
 *
 * @throws MeshError `invalid_argument` that names each such field, and the field that was probably meant
 */
export function assertNoTypos(schema: z.ZodObject, data: unknown, what: string): void {
  const typos = typosIn(schema, data, '');
  if (typos.length > 0) throw new MeshError('invalid_argument', `${what} is not valid: ${typos.join('; ')}`);
}

function typosIn(schema: z.ZodObject, data: unknown, path: string): string[] {
  const inner = fieldsOf(data).flatMap(([field, value]) => {
    if (field === 'newMessage') return typosInMessage(value, `${path}${field}`);
    const nested = objectIn(schema.shape[field]);
    return nested ? typosIn(nested, value, `${path}${field}.`) : [];
  });
  return [...misspelled(Object.keys(schema.shape), data, path), ...inner];
}

function typosInMessage(message: unknown, path: string): string[] {
  const parts = typeof message === 'object' && message !== null && 'parts' in message ? message.parts : [];
  const inParts = (Array.isArray(parts) ? parts : []).flatMap((part, at) =>
    misspelled(partFields, part, `${path}.parts.${at}.`),
  );
  return [...misspelled(['role', 'parts'], message, `${path}.`), ...inParts];
}

function misspelled(known: readonly string[], data: unknown, path: string): string[] {
  return fieldsOf(data).flatMap(([field]) => {
    const meant = known.includes(field) ? undefined : nearest(field, known);
    if (meant === undefined || Math.abs(meant.length - field.length) > typoLength) return [];
    return [`field ${JSON.stringify(`${path}${field}`)} is not known; did you mean ${path}${meant}?`];
  });
}

function fieldsOf(data: unknown): [string, unknown][] {
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? Object.entries(data) : [];
}

function unknownFields(schema: z.ZodObject, data: unknown, path: string): string[] {
  const known = Object.keys(schema.shape);
  return fieldsOf(data).flatMap(([field, value]) => {
    const name = `${path}${field}`;
    if (messageFields.includes(field) && known.includes(field)) return typosInMessage(value, name);
    if (known.includes(field)) return unknownBelow(schema.shape[field], value, name);
    const meant = nearest(field, known);
    const advice = meant ? `did you mean ${path}${meant}?` : `the fields are ${known.join(', ')}`;
    return [`field ${JSON.stringify(name)} is not known; ${advice}`];
  });
}

/** Looks into the objects of a field. An object that is open to further fields (`z.looseObject`) passes. */
function unknownBelow(schema: unknown, value: unknown, path: string): string[] {
  const inner = withoutWrappers(schema);
  if (inner instanceof z.ZodArray)
    return (Array.isArray(value) ? value : []).flatMap((each, at) =>
      unknownBelow(inner.element, each, `${path}.${at}`),
    );
  if (inner instanceof z.ZodRecord)
    return fieldsOf(value).flatMap(([key, each]) => unknownBelow(inner.valueType, each, `${path}.${key}`));
  const isClosed = inner instanceof z.ZodObject && !(inner.def.catchall instanceof z.ZodUnknown);
  return isClosed ? unknownFields(inner, value, `${path}.`) : [];
}

/** Returns the object schema within a schema that is optional or has a default. */
function objectIn(schema: unknown): z.ZodObject | undefined {
  const inner = withoutWrappers(schema);
  return inner instanceof z.ZodObject ? inner : undefined;
}

function withoutWrappers(schema: unknown): unknown {
  let inner = schema;
  while (inner instanceof z.ZodPrefault || inner instanceof z.ZodDefault || inner instanceof z.ZodOptional)
    inner = inner.unwrap();
  return inner;
}
