import { randomUUID } from 'node:crypto';
import { MeshError } from '@agentmesh/protocol';
import type { OtherHolder } from '@agentmesh/store';
import type { Mesh } from '../mesh/mesh.ts';

/**
 * Time without a renewal of its lease after which the holder of a call or job may be asked for, in ms: default
 * of the option of the same name.
 */
export const defaultLeaseMs = 3_000;

/** Returns a new holder of one piece of work: the replica, and a nonce. */
export function createHolder({ bus }: Pick<Mesh, 'bus'>): string {
  return `${bus.replica}/${randomUUID()}`;
}

/** The renewals of a lease. */
export interface Renewals {
  /**
   * Ends the renewals. Resolves when none is on its way: a late one would make the lease anew after it was
   * handed back, and nobody takes over from a process that lives.
   */
  stop(): Promise<void>;
}

/** Renews a lease in time. If a renewal fails, the next one makes up for it. */
export function keepRenewed(renew: () => Promise<unknown>, leaseMs: number, log: Mesh['log']): Renewals {
  let renewal: Promise<unknown> | undefined;
  const timer = setInterval(() => {
    renewal ??= renew()
      .catch((error) => log.debug({ err: error }, 'could not renew a lease'))
      .finally(() => {
        renewal = undefined;
      });
  }, leaseMs / 3);
  return {
    async stop() {
      clearInterval(timer);
      await renewal;
    },
  };
}

/**
 * Takes work for this process, also from a holder whose lease has lapsed and whose process is gone, or says that it
 * is not at the work: a failover of the store may lose a result, or that work was handed back. Other work of a
 * process that is alive stays with it: it may be paused, or cut off from the store, between the effect of the
 * work and its result. When NATS cannot tell, nothing is taken over.
 *
 * @param take takes the work; its argument is a holder that is gone
 * @param ids the ids of the work for the log
 */
export type TakeWork = <T extends { state: string }>(
  take: (gone?: string) => Promise<T | OtherHolder>,
  ids?: Record<string, unknown>,
) => Promise<T | OtherHolder>;

/** Makes the function by which a process takes calls and jobs of a tool. */
export function createTakeWork(mesh: Pick<Mesh, 'bus' | 'subjects' | 'log'>, tool: string): TakeWork {
  const isGone = createIsGone(mesh, tool);
  return async (take, ids = {}) => {
    const found = await take();
    if (!isOther(found) || !found.isLapsed || !(await isGone(found.holder))) return found;
    mesh.log.warn({ tool, ...ids, holder: found.holder }, 'takes over work whose holder is gone');
    return await take(found.holder);
  };
}

function isOther(found: { state: string }): found is OtherHolder {
  return found.state === 'busy';
}

/** Makes a function that asks NATS whether a holder is gone, or the holder itself whether it is at the work. */
function createIsGone({ bus, subjects, log }: Pick<Mesh, 'bus' | 'subjects' | 'log'>, tool: string) {
  return async (holder: string): Promise<boolean> => {
    const replica = holder.slice(0, holder.indexOf('/'));
    try {
      return await bus.isGone(subjects.shownAs(tool), replica, holder);
    } catch (error) {
      const level = MeshError.from(error).retryable ? 'debug' : 'error';
      log[level]({ err: error, tool, holder }, 'could not ask whether a replica is gone');
      return false;
    }
  };
}
