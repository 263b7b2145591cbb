import type { Packet } from '../bus/broker-link.ts';
import { subjectMatches } from './subject-match.ts';

export interface Subscription {
  pattern: string;
  queue: string | undefined;
  onPacket: (packet: Packet) => void;
}

/**
 * Publish and subscribe as in NATS core, with queue groups, and with a notice for requests that nobody
 * listens to.
 */
export interface Broker {
  subscribe(subscription: Subscription): void;
  unsubscribe(subscription: Subscription): void;
  publish(packet: Packet): void;
}

export function createBroker(): Broker {
  const subscriptions = new Set<Subscription>();

  function publish(packet: Packet) {
    const receivers = route(packet.subject);
    if (receivers.length === 0 && packet.reply !== undefined) {
      const notice: Packet = {
        subject: packet.reply,
        headers: {},
        bytes: new Uint8Array(),
        noResponders: true,
      };
      for (const receiver of route(packet.reply)) deliver(receiver, notice);
    }
    for (const receiver of receivers) deliver(receiver, packet);
  }

  /** Returns all plain subscribers, and one of each queue group, chosen at random as NATS does. */
  function route(subject: string): Subscription[] {
    const plain: Subscription[] = [];
    const groups = new Map<string, Subscription[]>();
    for (const subscription of subscriptions) {
      if (!subjectMatches(subscription.pattern, subject)) continue;
      if (subscription.queue === undefined) plain.push(subscription);
      else groups.set(subscription.queue, [...(groups.get(subscription.queue) ?? []), subscription]);
    }
    const chosen = [...groups.values()].flatMap(
      (members) => members[Math.floor(Math.random() * members.length)] ?? [],
    );
    return [...plain, ...chosen];
  }

  /** Delivers a copy later, as over a wire, in the order of publishing. */
  function deliver(receiver: Subscription, packet: Packet) {
    const copy = { ...packet, headers: { ...packet.headers }, bytes: packet.bytes.slice() };
    queueMicrotask(() => {
      if (subscriptions.has(receiver)) receiver.onPacket(copy);
    });
  }

  return {
    subscribe: (subscription) => void subscriptions.add(subscription),
    unsubscribe: (subscription) => void subscriptions.delete(subscription),
    publish,
  };
}
