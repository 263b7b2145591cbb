import { createHash } from 'node:crypto';
import { MeshError } from '../errors/mesh-error.ts';

/**
 * Any id as a short part of a key: models, peers and tools choose their ids. 64 characters are hashed too: no id is another's hash.
 *
 * @throws MeshError `invalid_argument` for ill-formed Unicode: a hash would take all ill-formed texts for the same
 */
export function shortId(id: string): string {
  if (/^[\w-]{1,63}$/.test(id)) return id;
  if (!id.isWellFormed()) throw new MeshError('invalid_argument', 'an id must be well-formed Unicode');
  return createHash('sha256').update(id).digest('hex');
}
