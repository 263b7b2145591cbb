import type { QueueName, Subjects } from '@agentmesh/protocol';
import type { StoredPacket } from '../../bus/broker-link.ts';
import { messageFrom, type StreamApi } from '../wire/jetstream-api.ts';
import { fromNatsHeaders } from '../wire/packet.ts';

export interface StoredPlace {
  stream: string;
  /** May hold wildcards. */
  subject: string;
  /** The lowest number. */
  from: number;
}

/**
 * Reads the first message of a stream with this subject and at least this number. Asks the leader of the
 * stream: a copy may not have the message yet.
 */
export async function nextStored(api: StreamApi, place: StoredPlace): Promise<StoredPacket | undefined> {
  const message = await api.repeat(`read ${place.stream}`, async () =>
    messageFrom(await api.manager(), place),
  );
  if (!message) return undefined;
  return {
    subject: message.subject,
    headers: fromNatsHeaders(message.header),
    bytes: message.data,
    key: `${nanosOf(message.timestamp)}-${message.seq}`,
    place: message.seq,
    storedAt: message.time.getTime(),
  };
}

/** Turns a time as nats-server writes it (RFC 3339, up to nine digits of a second) into ns since 1970. */
function nanosOf(time: string): string {
  const [, seconds = '', fraction = ''] = /^([^.]+?)(?:\.(\d+))?Z$/.exec(time) ?? [];
  return `${Date.parse(`${seconds}Z`) / 1_000}${fraction.padEnd(9, '0')}`;
}

/** Returns the number up to which the consumer of a queue has all acknowledgements. See `BrokerLink`. */
export async function ackFloor(
  api: StreamApi,
  subjects: Subjects,
  { kind, name }: QueueName,
): Promise<number> {
  const stream = subjects.workStream(kind);
  const { ack_floor } = await api.repeat(`read the consumer of ${name}`, async () =>
    (await api.manager()).consumers.info(stream, subjects.workConsumer(name)),
  );
  return ack_floor.stream_seq;
}
