import { randomBytes } from 'node:crypto';
import type { Subjects } from '@agentmesh/protocol';
import type { BrokerLink, Packet } from '../bus/broker-link.ts';
import { assertMessageId } from '../messages/message-headers.ts';
import { assertSize } from '../messages/message-size.ts';
import type { Broker, Subscription } from './broker.ts';
import type { MemoryBuckets } from './memory-buckets.ts';
import type { WorkQueues } from './work-queue.ts';

/** The parts that the connections of one hub share. */
export interface HubParts {
  broker: Broker;
  queues: WorkQueues;
  buckets: MemoryBuckets;
  putCard(key: string, bytes: Uint8Array, onlyIfAbsent?: boolean): void;
}

/** A connection to a hub. */
export interface MemoryLink extends BrokerLink {
  /** Ends the connection without notice, as the death of its process would. */
  kill(): void;
}

/** NATS' default limit. */
const maxPayload = 1024 * 1024;
const ackWaitMs = 10_000;

export function createMemoryLink(hub: HubParts, subjects: Subjects, service: string): MemoryLink {
  const closing = new AbortController();
  const subscriptions = new Set<Subscription>();
  const owner = {};

  function end() {
    if (closing.signal.aborted) return;
    closing.abort();
    for (const subscription of subscriptions) hub.broker.unsubscribe(subscription);
    hub.queues.release(owner);
  }

  function checked(packet: Packet): Packet {
    assertSize(packet, maxPayload);
    return packet;
  }

  return {
    inbox: `${subjects.inboxPrefix(service)}.${randomBytes(8).toString('hex')}`,
    closed: closing.signal,
    get connected() {
      return !closing.signal.aborted;
    },
    maxPayload,
    send(packet) {
      if (!closing.signal.aborted) hub.broker.publish(checked(packet));
    },
    // Deliveries are microtasks and run in order: a microtask queued now runs after them.
    flush: () => new Promise((resolve) => queueMicrotask(resolve)),
    async listen(pattern, onPacket, { queue } = {}) {
      const subscription = { pattern, queue, onPacket };
      subscriptions.add(subscription);
      hub.broker.subscribe(subscription);
      return {
        async drain() {
          // Packets that are already routed to it are delivered within one turn of the microtask queue.
          await Promise.resolve();
          hub.broker.unsubscribe(subscription);
          subscriptions.delete(subscription);
        },
      };
    },
    onConnected: () => () => {},
    onDenied: () => () => {},
    async enqueue(packet) {
      assertMessageId(packet);
      return { ...hub.queues.put(checked(packet)), isSure: true };
    },
    async openWork({ kind, name }) {
      const subject = subjects.workSubject(kind, name);
      const ending = new AbortController();
      return {
        ackWaitMs,
        async pull(count, take) {
          for (let taken = 0; taken < count; taken += 1) {
            // A dead process takes no work.
            if (closing.signal.aborted) return;
            const delivery = await hub.queues.take(subject, owner, ending.signal);
            if (!delivery) return;
            take(delivery);
          }
        },
        withdraw: async () => ending.abort(),
      };
    },
    // An acknowledged message is not there any more.
    ackFloor: async () => undefined,
    ackStored: () => {},
    nextWork: async (_kind, subject, from) => hub.queues.next(subject, from),
    putCard: async (key, bytes, onlyIfAbsent) => hub.putCard(key, bytes, onlyIfAbsent),
    objects: (bucket) => hub.buckets.objects(bucket),
    records: (bucket) => hub.buckets.records(bucket),
    close: async () => end(),
    kill: end,
  };
}
