import type { MeshError, QueueName, Subjects } from '@agentmesh/protocol';
import { type NatsConnection, PermissionViolationError } from '@nats-io/nats-core';
import type { BrokerLink, Listening, ListenOptions, OnError, Packet } from '../bus/broker-link.ts';
import { within } from '../bus/started.ts';
import { whenConnected } from '../bus/when-connected.ts';
import { assertMessageId } from '../messages/message-headers.ts';
import { assertSize } from '../messages/message-size.ts';
import { openObjects } from './buckets/object-bucket.ts';
import { openRecords } from './buckets/record-bucket.ts';
import { enqueue, putCard } from './wire/enqueue.ts';
import { streamApi } from './wire/jetstream-api.ts';
import { fromNats } from './wire/nats-errors.ts';
import { toNatsHeaders, toPacket } from './wire/packet.ts';
import { watchStatus } from './wire/status.ts';
import { ackFloor, nextStored } from './work/next-stored.ts';
import { openWorkSource } from './work/work-source.ts';

export interface NatsLinkParts {
  connection: NatsConnection;
  subjects: Subjects;
  inbox: string;
  onError: OnError;
}

/**
 * The time limit for each step that closes a connection or a subscription in order, in ms. The client itself waits for
 * an answer of the server without a limit, and for ever when the connection is closed meanwhile.
 */
const closeMs = 2_000;

export function createNatsLink({ connection, subjects, inbox, onError }: NatsLinkParts): BrokerLink {
  const status = watchStatus(connection, onError);

  function maxPayload() {
    return connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
  }

  function send(packet: Packet) {
    assertSize(packet, maxPayload());
    const { subject, headers, bytes, reply } = packet;
    try {
      const options = {
        // A message without headers has another form, which ends a stream of answers. See `Replies.close`.
        ...(Object.keys(headers).length > 0 && { headers: toNatsHeaders(headers) }),
        ...(reply === undefined ? {} : { reply }),
      };
      connection.publish(subject, bytes, options);
    } catch (thrown) {
      throw fromNats(thrown, `send to ${subject}`);
    }
  }

  async function flush() {
    if (status.connected) await connection.flush().catch(() => {});
  }

  const link: BrokerLink = {
    inbox,
    closed: status.closed,
    get connected() {
      return status.connected;
    },
    get maxPayload() {
      return maxPayload();
    },
    send,
    flush,
    listen: (subject, onPacket, options) => listen(connection, link, subject, onPacket, options),
    onConnected: status.onConnected,
    onDenied: status.onDenied,
    async enqueue(packet) {
      assertMessageId(packet);
      assertSize(packet, maxPayload());
      return enqueue(connection, link, packet);
    },
    async openWork(queue) {
      opened.add(keyOf(queue));
      return await openWorkSource({ connection, link, subjects, onError }, queue);
    },
    nextWork: (kind, subject, from) => nextStored(api, { stream: subjects.workStream(kind), subject, from }),
    // A service may ask for the consumers that it uses.
    ackFloor: async (queue) => (opened.has(keyOf(queue)) ? await ackFloor(api, subjects, queue) : undefined),
    ackStored({ kind, name }, place) {
      const queue = `${subjects.workStream(kind)}.${subjects.workConsumer(name)}`;
      if (status.connected) connection.publish(`$JS.ACK.${queue}.1.${place}.0.0.0`, '+ACK');
    },
    objects: (bucket, isWrittenOnce = false) =>
      openObjects({ connection, link, bucket, isWrittenOnce, expectDenied: status.expectDenied }),
    records: (bucket) => openRecords(connection, link, bucket, status.expectDenied),
    putCard: (key, bytes, onlyIfAbsent) =>
      putCard(connection, link, subjects.cardBucket, key, bytes, onlyIfAbsent),
    async close() {
      if (status.connected)
        await within(
          closeMs,
          connection.drain().catch(() => {}),
        );
      await within(closeMs, connection.close());
    },
  };
  const api = streamApi(connection, link);
  const opened = new Set<string>();
  return link;
}

const keyOf = ({ kind, name }: QueueName) => `${kind} ${name}`;

async function listen(
  connection: NatsConnection,
  link: BrokerLink,
  subject: string,
  onPacket: (packet: Packet) => void,
  { queue, onLost }: ListenOptions = {},
): Promise<Listening> {
  let confirmed = false;
  let refused: MeshError | undefined;
  const subscription = connection.subscribe(subject, {
    ...(queue === undefined ? {} : { queue }),
    callback(error, msg) {
      if (!error) {
        onPacket(toPacket(msg));
        return;
      }
      refused = fromNats(error, `subscribe ${subject}`);
      if (confirmed) onLost?.(refused);
    },
  });
  await confirm(connection, link);
  confirmed = true;
  if (refused) throw refused;
  return {
    async drain() {
      if (subscription.isClosed()) return;
      // Without a connection no message is on its way, and no server can confirm the drain.
      if (link.connected)
        await within(
          closeMs,
          subscription.drain().catch(() => {}),
        );
      else subscription.unsubscribe();
    },
  };
}

/**
 * Waits until the server has read all that was sent. Continues over a reconnect, after which the client
 * subscribes again by itself.
 */
async function confirm(connection: NatsConnection, link: BrokerLink): Promise<void> {
  for (;;) {
    await whenConnected(link);
    try {
      await connection.flush();
      return;
    } catch (thrown) {
      if (thrown instanceof PermissionViolationError || connection.isClosed())
        throw fromNats(thrown, 'flush');
      // The client rejects `flush` before it reports the lost connection. This pause lets the client report.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
