import type { ArtifactRef } from '@agentmesh/agent';
import { noSession } from '@agentmesh/agent/internal';
import { MeshError } from '@agentmesh/protocol';
import type { GatewayContext } from '../../context/context.ts';

/**
 * Saves a file, unless its session is deleted meanwhile: a slow upload must leave nothing of a user whose data was
 * deleted. A file of the user without any session is not checked.
 *
 * @param save saves the file; calls `assertStays` when all bytes are there, and stores no version if it throws
 * @returns the number of the version
 * @throws MeshError `not_found` when the session is gone, or is another one of the same id
 */
export async function saveToSession(
  { mesh: { sessions, artifacts } }: GatewayContext,
  ref: ArtifactRef,
  save: (assertStays: () => Promise<void>) => Promise<number>,
): Promise<number> {
  const incarnation = (await sessions.leases.look(ref))?.incarnation;
  const assertStays = async () => {
    if (incarnation === undefined || (await sessions.leases.look(ref))?.incarnation === incarnation) return;
    throw noSession(ref);
  };
  const version = await save(assertStays);
  try {
    await assertStays();
  } catch (error) {
    // What a session without an owner has belongs to nobody.
    const isGone = MeshError.from(error).code === 'not_found' && !(await sessions.leases.look(ref));
    if (isGone && !ref.filename.startsWith('user:')) await artifacts.deleteAll(ref);
    throw error;
  }
  return version;
}
