import { z } from 'zod';
import { MeshError } from '../errors/mesh-error.ts';
import { nearest } from './nearest.ts';

/** The number of problems that an error names: a long list may have one in each of its entries. */
const mostProblems = 10;

/**
 * Reads data from outside by a schema. The error names the first problems with their paths.
 *
 * @throws MeshError `invalid_argument`
 */
export function parse<T>(schema: z.ZodType<T>, data: unknown, what: string): T {
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const { issues } = result.error;
  const problems = issues.slice(0, mostProblems).map((issue) => {
    const { path, message } = issue;
    const where = path.map(String).join('.');
    if (issue.code === 'unrecognized_keys')
      return issue.keys
        .map((key) => (where === '' ? unknownField(key, known) : unknownField(`${where}.${key}`, [])))
        .join('; ');
    if (!where) return message;
    return valueAt(data, path) === undefined ? `${where} is missing` : `${where}: ${message}`;
  });
  if (issues.length > mostProblems) problems.push(`and ${issues.length - mostProblems} more`);
  throw new MeshError('invalid_argument', `${what} is not valid: ${problems.join('; ')}`, {
    cause: result.error,
  });
}

function unknownField(field: string, known: readonly string[]): string {
  const meant = nearest(field, known);
  const advice = meant ? `; did you mean ${meant}?` : '';
  return `field ${JSON.stringify(field)} is not known${advice}`;
}

function valueAt(data: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined),
    data,
  );
}
