import { z } from 'zod';
import { MeshError } from '../errors/mesh-error.ts';

/**
 * The name of an agent: a letter or `_`, then letters, digits, `_`, `-`. NATS allows the same characters in
 * the names of services and queues. Not `user`, which is the author of people's messages.
 */
export const agentNameSchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, 'a letter or _ first, then letters, digits, _ or -; at most 64')
  .refine(
    (name) => name !== 'user',
    'the name "user" is reserved for the author of people\'s messages; choose another name',
  );

/** The name of a tool, in the characters that models accept in the name of a function. */
export const toolNameSchema = z
  .string()
  .regex(
    /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/,
    'a letter or _ first, then letters, digits, _, ., : or -; at most 128',
  );

/** The version of a service, as semver and the NATS services protocol write it. */
export const versionSchema = z
  .string()
  .regex(/^\d+\.\d+\.\d+(?:[-+][\w.+-]{1,60})?$/, 'must be a version such as 1.4.0 or 1.4.0-rc.1');

/**
 * Checks a name where it enters the program.
 *
 * @throws MeshError `invalid_argument` that names the allowed characters.
 */
export function assertName(kind: 'agent' | 'tool', name: string): string {
  const result = (kind === 'agent' ? agentNameSchema : toolNameSchema).safeParse(name);
  if (result.success) return name;
  const problem = result.error.issues[0]?.message ?? 'invalid';
  throw new MeshError('invalid_argument', `${kind} name ${JSON.stringify(name)}: ${problem}`);
}
