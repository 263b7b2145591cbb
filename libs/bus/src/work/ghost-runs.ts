import { every, MeshError, meshTime, type Subjects } from '@agentmesh/protocol';
import type { BrokerLink } from '../bus/broker-link.ts';
import type { GhostItem } from '../bus/bus.ts';
import { whenConnected } from '../bus/when-connected.ts';
import type { Claims } from '../claims/claims.ts';
import { createMessage } from '../messages/create-message.ts';

interface Reader {
  link: BrokerLink;
  claims: Claims;
  subjects: Subjects;
}

/** Returns the reader of the ghosts of a connection. See `Bus.ghostRuns`. */
export function createGhostReader({ link, claims, subjects }: Reader) {
  /** The number up to which all ghosts of an agent are too old; a server that was killed may begin its numbers anew. */
  const agedUpTo = new Map<string, number>();
  link.onConnected(() => agedUpTo.clear());

  return async function* ghostRuns(agent: string, maxAgeMs: number): AsyncGenerator<GhostItem, void, void> {
    const queue = { kind: 'run', name: agent } as const;
    await whenConnected(link);
    const floor = (await link.ackFloor(queue)) ?? 0;
    for (let from = (agedUpTo.get(agent) ?? 0) + 1; from <= floor; ) {
      await whenConnected(link);
      const packet = await link.nextWork('run', subjects.agentRun(agent, every), from);
      if (!packet || packet.place > floor) return;
      const { key, place, storedAt } = packet;
      from = place + 1;
      const ageMs = meshTime() - storedAt;
      if (ageMs > maxAgeMs) {
        agedUpTo.set(agent, place);
        continue;
      }
      const read = async () => {
        try {
          return { ...createMessage(await claims.restore(packet)), key, place };
        } catch (thrown) {
          if (MeshError.from(thrown).code !== 'failed_precondition') throw thrown;
          return undefined;
        }
      };
      yield { subject: packet.subject, key, place, read, drop: () => link.ackStored(queue, place) };
    }
  };
}
