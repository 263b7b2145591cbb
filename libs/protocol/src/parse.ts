import type { z } from 'zod';
import { MeshError } from './errors.ts';

/**
 * Reads outside data by a schema, naming every problem with its path.
 *
 * @throws MeshError `invalid_argument`
 */
export function parse<T>(schema: z.ZodType<T>, data: unknown, what: string): T {
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => {
    const where = path.map(String).join('.');
    if (!where) return message;
    return valueAt(data, path) === undefined ? `${where} is missing` : `${where}: ${message}`;
  });
  throw new MeshError('invalid_argument', `${what} is not valid: ${problems.join('; ')}`, {
    cause: result.error,
  });
}

function valueAt(data: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined),
    data,
  );
}
