import { randomUUID } from 'node:crypto';
import { MeshError } from '@agentmesh/protocol';
import type { OtherHolder } from '@agentmesh/store';
import type { Mesh } from '../mesh/mesh.ts';

/**
 * Time without a renewal of its lease after which the holder of a call or job may be asked for, in ms: default
 * of the option of the same name.
 */
export const defaultLeaseMs = 3_000;

/** Returns a new holder of this process: its replica, and a nonce. */
export function createHolder({ bus }: Pick<Mesh, 'bus'>): string {
  return `${bus.replica}/${randomUUID()}`;
}

/**
 * Takes work for this process, also from a holder whose lease has lapsed and whose process is gone. Work of a
 * process that is alive stays with it: it may be paused, or cut off from the store, between the effect of the
 * work and its result. When NATS cannot tell, nothing is taken over.
 *
 * @param take takes the work; its argument is a holder that is gone
 */
export async function takeWork<T extends { state: string }>(
  mesh: Pick<Mesh, 'bus' | 'subjects' | 'log'>,
  tool: string,
  take: (gone?: string) => Promise<T | OtherHolder>,
): Promise<T | OtherHolder> {
  const found = await take();
  if (!isOther(found) || !found.isLapsed || !(await isGone(mesh, tool, found.holder))) return found;
  mesh.log.warn({ tool, holder: found.holder }, 'takes over the work of a replica that is gone');
  return await take(found.holder);
}

function isOther(found: { state: string }): found is OtherHolder {
  return found.state === 'busy';
}

async function isGone(
  { bus, subjects, log }: Pick<Mesh, 'bus' | 'subjects' | 'log'>,
  tool: string,
  holder: string,
): Promise<boolean> {
  const replica = holder.slice(0, holder.indexOf('/'));
  try {
    return await bus.isGone(subjects.shownAs(tool), replica);
  } catch (error) {
    const level = MeshError.from(error).retryable ? 'debug' : 'error';
    log[level]({ err: error, tool, holder }, 'could not ask whether a replica is gone');
    return false;
  }
}
