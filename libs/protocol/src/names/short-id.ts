import { createHash } from 'node:crypto';
import { MeshError } from '../errors/mesh-error.ts';

/**
 * Turns any id into a short part of a key. Models, peers and tools choose ids of any length. Ids of 64
 * characters are hashed too, so that no id equals the hash of another.
 *
 * @throws MeshError `invalid_argument` for ill-formed Unicode, because different ill-formed texts have the
 * same hash
 */
export function shortId(id: string): string {
  if (/^[\w-]{1,63}$/.test(id)) return id;
  if (!id.isWellFormed()) throw new MeshError('invalid_argument', 'an id must be well-formed Unicode');
  return createHash('sha256').update(id).digest('hex');
}
