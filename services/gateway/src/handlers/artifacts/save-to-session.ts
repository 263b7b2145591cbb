import type { ArtifactRef } from '@agentmesh/agent';
import { noSession } from '@agentmesh/agent/internal';
import { MeshError } from '@agentmesh/protocol';
import type { GatewayContext } from '../../context/context.ts';
import { requireLog } from '../../params/require-session.ts';

/**
 * Saves a file, unless its session is deleted meanwhile: a slow upload must leave nothing of a user whose data was
 * deleted. A file of the user may have no session; then nothing is checked.
 *
 * @param save saves the file; calls `assertStays` when all bytes are there, and stores no version if it throws
 * @returns the number of the version
 * @throws MeshError `not_found` when there is no session, when it is gone at the end, or another one of the same id
 */
export async function saveToSession(
  context: GatewayContext,
  ref: ArtifactRef,
  save: (assertStays: () => Promise<void>) => Promise<number>,
): Promise<number> {
  const { sessions, artifacts } = context.mesh;
  const isOfUser = ref.filename.startsWith('user:');
  // One look says both: between two of them the session may be deleted, and nothing would be checked.
  const session = isOfUser ? await sessions.leases.look(ref) : await requireLog(context, ref);
  const assertStays = async () => {
    if (!session) return;
    const { incarnation } = (await sessions.leases.look(ref)) ?? {};
    if (incarnation !== session.incarnation) throw noSession(ref);
  };
  const version = await save(assertStays);
  try {
    await assertStays();
  } catch (error) {
    // What a session without an owner has belongs to nobody.
    const isGone = MeshError.from(error).code === 'not_found' && !(await sessions.leases.look(ref));
    if (isGone && !isOfUser) await artifacts.deleteAll(ref);
    throw error;
  }
  return version;
}
