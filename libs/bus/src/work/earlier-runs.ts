import { decodeToken, every, MeshError, type Subjects } from '@agentmesh/protocol';
import type { BrokerLink, StoredPacket } from '../bus/broker-link.ts';
import type { StoredItem } from '../bus/bus.ts';
import { whenConnected } from '../bus/when-connected.ts';
import type { Claims } from '../claims/claims.ts';
import { createMessage } from '../messages/create-message.ts';

interface Reader {
  link: BrokerLink;
  claims: Claims;
  subjects: Subjects;
}

/** Yields the run commands of a session id that were accepted before a place. See `Bus.earlierRuns`. */
export async function* earlierRuns(
  { link, claims, subjects }: Reader,
  session: string,
  before: number,
): AsyncGenerator<StoredItem, void, void> {
  for await (const packet of packetsOf(link, subjects.agentRun(every, session), before)) {
    if (await isAcknowledged(link, packet)) continue;
    try {
      const { key, place } = packet;
      yield { ...createMessage(await claims.restore(packet)), key, place };
    } catch (thrown) {
      // The run has ended, and its payload was removed.
      if (MeshError.from(thrown).code !== 'failed_precondition') throw thrown;
    }
  }
}

/** Yields the stored packets of a subject that were accepted before a place. */
async function* packetsOf(
  link: BrokerLink,
  subject: string,
  before: number,
): AsyncGenerator<StoredPacket, void, void> {
  for (let from = 1; from < before; ) {
    await whenConnected(link);
    const packet = await link.nextWork('run', subject, from);
    if (!packet || packet.place >= before) return;
    from = packet.place + 1;
    yield packet;
  }
}

/** Tells whether the server keeps a message that was acknowledged, as it may do after a kill. */
async function isAcknowledged(link: BrokerLink, { subject, place }: StoredPacket): Promise<boolean> {
  const agent = decodeToken(subject.split('.').at(-3) ?? '');
  return place <= ((await link.ackFloor({ kind: 'run', name: agent })) ?? 0);
}
