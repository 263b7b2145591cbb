import { z } from 'zod';
import { MeshError } from '../errors/mesh-error.ts';

/**
 * Name of an agent: a letter or `_`, then letters, digits, `_`, `-`; not `user`, which is the author of what people say.
 * The same alphabet that NATS allows in service and queue names.
 */
export const agentNameSchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, 'a letter or _ first, then letters, digits, _ or -; at most 64')
  .refine((name) => name !== 'user', 'the name "user" is taken: it is the author of what people say');

/** Name of a tool: what models take as the name of a function. */
export const toolNameSchema = z
  .string()
  .regex(
    /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/,
    'a letter or _ first, then letters, digits, _, ., : or -; at most 128',
  );

/** Checks a name where it enters the program. @throws MeshError `invalid_argument` that says what a name may hold. */
export function assertName(kind: 'agent' | 'tool', name: string): string {
  const result = (kind === 'agent' ? agentNameSchema : toolNameSchema).safeParse(name);
  if (result.success) return name;
  const problem = result.error.issues[0]?.message ?? 'invalid';
  throw new MeshError('invalid_argument', `${kind} name ${JSON.stringify(name)}: ${problem}`);
}
