import { decodeToken, every, MeshError, type NameOrEvery, type Subjects } from '@agentmesh/protocol';
import type { BrokerLink, StoredPacket } from '../bus/broker-link.ts';
import type { StoredItem } from '../bus/bus.ts';
import { whenConnected } from '../bus/when-connected.ts';
import type { Claims } from '../claims/claims.ts';
import { createMessage } from '../messages/create-message.ts';

export interface EarlierRuns {
  session: string;
  /** The place before which the commands were accepted. */
  before: number;
  /** The agents whose commands are wanted; default all. */
  agents?: readonly string[] | undefined;
}

interface Reader {
  link: BrokerLink;
  claims: Claims;
  subjects: Subjects;
}

/** Yields the run commands of a session id that were accepted before a place. See `Bus.earlierRuns`. */
export async function* earlierRuns(
  { link, claims, subjects }: Reader,
  { session, before, agents = [] }: EarlierRuns,
): AsyncGenerator<StoredItem, void, void> {
  const named: NameOrEvery[] = link.isSlowWithPatterns && agents.length > 0 ? [...agents] : [every];
  const packets = named.map((agent) => packetsOf(link, subjects.agentRun(agent, session), before));
  for await (const packet of inOrder(packets)) {
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

/** Yields the packets of several sources, each in order, in the order of their places. */
async function* inOrder(
  sources: readonly AsyncGenerator<StoredPacket, void, void>[],
): AsyncGenerator<StoredPacket, void, void> {
  const next = await Promise.all(sources.map((source) => source.next()));
  for (;;) {
    const [first] = next
      .flatMap((result, at) => (result.done ? [] : { at, packet: result.value }))
      .sort((a, b) => a.packet.place - b.packet.place);
    if (!first) return;
    yield first.packet;
    next[first.at] = await (sources[first.at] as (typeof sources)[number]).next();
  }
}

/** Tells whether the server keeps a message that was acknowledged, as it may do after a kill. */
async function isAcknowledged(link: BrokerLink, { subject, place }: StoredPacket): Promise<boolean> {
  const agent = decodeToken(subject.split('.').at(-3) ?? '');
  return place <= ((await link.ackFloor({ kind: 'run', name: agent })) ?? 0);
}
