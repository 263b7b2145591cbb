import { MeshError, type QueueName } from '@agentmesh/protocol';
import type {
  BrokerLink,
  Listening,
  ListenOptions,
  Packet,
  WorkSource,
} from '../../../libs/bus/src/bus/broker-link.ts';
import { type BrokerClient, makeBrokerClient } from './broker-client.ts';
import type { Connection, Subscription } from './connection.ts';
import type { SimBroker } from './sim-broker.ts';
import { simBuckets } from './sim-buckets.ts';
import { tokensOf } from './subject-pattern.ts';

/** The largest message, in bytes: small, so that claims of large payloads cost the simulation little. */
const maxPayload = 64 * 1024;
/** The time for a subscription, in ms. */
const listenMs = 20_000;
/** The time after which a request for work without any word of the server is over, in ms. */
const silenceMs = 2_000;

/** Opens the link of one process to the simulated server. Each message and each request is an operation. */
export function openLink(broker: SimBroker, connection: Connection, inbox: string): BrokerLink {
  const { ops } = broker.wire;
  const { life } = connection;
  const client = makeBrokerClient(broker.wire, connection);
  const { ask, insist } = client;
  return {
    ...{ inbox, maxPayload, closed: connection.closed },
    get connected() {
      return connection.isOpen;
    },
    send(packet) {
      if (!connection.isOpen) return;
      if (packet.bytes.length > maxPayload)
        throw new MeshError('invalid_argument', 'the message is too large');
      const deliver = () => connection.toServer(() => broker.core.publish(packet));
      ops.send(life, `pub ${packet.subject}`, deliver, packet.bytes);
    },
    async flush() {
      if (connection.isOpen) await ask('flush', () => undefined, listenMs).catch(() => {});
    },
    listen: (pattern, onPacket, options) =>
      listen(broker, connection, client, { pattern, onPacket, ...options }),
    onConnected: (listener) => {
      connection.onUp.add(listener);
      return () => connection.onUp.delete(listener);
    },
    onDenied: () => () => {},
    async enqueue(packet) {
      const { value, tries } = await insist(`enqueue ${packet.subject}`, () => broker.stream.store(packet));
      return { duplicate: value.duplicate, isSure: tries === 1 };
    },
    openWork: (queue) => openWork(broker, connection, client, queue),
    ackFloor: async () => undefined,
    ackStored: () => {},
    async nextWork(_kind, subject, from) {
      return (await insist(`next ${subject} ${from}`, () => broker.stream.next(subject, from))).value;
    },
    async putCard(key, bytes, onlyIfAbsent) {
      await insist(`card ${key}`, () => broker.putCard(key, bytes, onlyIfAbsent));
    },
    ...simBuckets(broker.buckets, insist),
    async close() {
      if (connection.closed.aborted) return;
      connection.close();
      broker.forget(connection);
    },
  };
}

interface Wanted extends ListenOptions {
  pattern: string;
  onPacket: (packet: Packet) => void;
}

async function listen(
  { core }: SimBroker,
  connection: Connection,
  { ask, connected }: BrokerClient,
  { pattern, onPacket, queue }: Wanted,
): Promise<Listening> {
  const subscription: Subscription = { connection, pattern, queue, onPacket };
  connection.subscriptions.add(subscription);
  for (let isKnown = false; !isKnown; ) {
    await connected();
    const subscribing = ask(`sub ${pattern}`, () => core.add(subscription), listenMs);
    isKnown = await subscribing.then(
      () => true,
      () => connection.closed.aborted,
    );
  }
  return {
    async drain() {
      const leave = () => core.remove(subscription);
      if (connection.isOpen) await ask(`unsub ${pattern}`, leave, listenMs).catch(() => {});
      connection.subscriptions.delete(subscription);
      leave();
    },
  };
}

async function openWork(
  broker: SimBroker,
  connection: Connection,
  { ask, connected }: BrokerClient,
  { kind, name }: QueueName,
): Promise<WorkSource> {
  const subject = tokensOf(broker.subjects.workSubject(kind, name));
  const ending = new AbortController();
  await ask(`consumer ${kind} ${name}`, () => undefined);
  return {
    ackWaitMs: broker.stream.ackWaitMs,
    async pull(count, take) {
      await connected(ending.signal);
      if (ending.signal.aborted || connection.closed.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const end = () => resolve();
      const signals = [ending.signal, connection.closed];
      const silence = globalThis.setTimeout(end, silenceMs);
      for (const signal of signals) signal.addEventListener('abort', end);
      connection.onUp.add(end);
      const request = { subject, missing: count, onDelivery: take, onEnd: end };
      broker.wire.ops.send(connection.life, `pull ${kind} ${name}`, () =>
        connection.toServer(() => broker.stream.pull(connection, request)),
      );
      await promise;
      clearTimeout(silence);
      for (const signal of signals) signal.removeEventListener('abort', end);
      connection.onUp.delete(end);
    },
    withdraw: async () => ending.abort(),
  };
}
