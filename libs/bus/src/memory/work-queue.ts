import { header } from '@agentmesh/protocol';
import type { Delivery, Packet, StoredPacket } from '../bus/broker-link.ts';
import { withoutAlone } from '../messages/message-headers.ts';
import { subjectMatches } from './subject-match.ts';

interface Item {
  packet: Packet;
  seq: number;
  key: string;
  storedAt: number;
  attempt: number;
  /** The connection that works on the item, as any object that stands for it. */
  owner: object | undefined;
  timer: NodeJS.Timeout | undefined;
}

interface Taker {
  subject: string;
  owner: object;
  resolve: (delivery: Delivery | undefined) => void;
}

/**
 * Work queues as in JetStream, by subject: each message goes to one taker, and is delivered again until it is
 * acknowledged.
 */
export interface WorkQueues {
  put(packet: Packet): { duplicate: boolean };
  take(subject: string, owner: object, signal: AbortSignal): Promise<Delivery | undefined>;
  /** Returns the first message of a subject from this number on, also one in work. */
  next(subject: string, from: number): StoredPacket | undefined;
  /** Returns the number of messages in the queue, including those in work. */
  count(subject: string): number;
  /** Removes the same messages. */
  remove(subject: string): void;
  /** Returns the same messages as text. */
  texts(subject: string): string[];
  /** Returns all messages that a connection holds to the queue. */
  release(owner: object): void;
}

/**
 * The time within which a message id is a duplicate, in ms; the same as the duplicate window of the stream.
 */
const dedupeMs = 120_000;

export function createWorkQueues(): WorkQueues {
  const items = new Map<number, Item>();
  const takers = new Set<Taker>();
  const messageIds = new Map<string, number>();
  let lastSeq = 0;

  function isDuplicate(id: string | undefined): boolean {
    if (id === undefined) return false;
    const now = Date.now();
    // The map is in the order of age.
    for (const [oldId, time] of messageIds) {
      if (now - time < dedupeMs) break;
      messageIds.delete(oldId);
    }
    if (messageIds.has(id)) return true;
    messageIds.set(id, now);
    return false;
  }

  /** Hands the oldest items to the takers that have waited longest. */
  function match() {
    for (const taker of takers) {
      const item = oldest(taker.subject);
      if (!item) continue;
      takers.delete(taker);
      taker.resolve(deliver(item, taker.owner));
    }
  }

  function oldest(subject: string): Item | undefined {
    for (const item of items.values()) {
      if (!item.owner && !item.timer && subjectMatches(subject, item.packet.subject)) return item;
    }
    return undefined;
  }

  function under(subject: string): Item[] {
    return [...items.values()].filter(({ packet }) => subjectMatches(subject, packet.subject));
  }

  function saysTrue(packet: Packet): Packet {
    if (under(packet.subject).length === 0) return packet;
    return { ...packet, headers: withoutAlone(packet.headers) };
  }

  function deliver(item: Item, owner: object): Delivery {
    item.owner = owner;
    item.attempt += 1;
    const { attempt, key, seq, packet } = item;
    const isCurrent = () => items.get(seq) === item && item.owner === owner && item.attempt === attempt;
    return {
      ...packet,
      headers: { ...packet.headers },
      bytes: packet.bytes.slice(),
      attempt,
      key,
      place: seq,
      working() {},
      async ack() {
        if (isCurrent()) items.delete(seq);
      },
      nak(delayMs) {
        if (!isCurrent()) return;
        item.owner = undefined;
        if (delayMs > 0) {
          item.timer = setTimeout(() => {
            item.timer = undefined;
            match();
          }, delayMs);
        }
        match();
      },
    };
  }

  return {
    put(packet) {
      if (isDuplicate(packet.headers[header.messageId])) return { duplicate: true };
      const seq = ++lastSeq;
      const key = `${Date.now()}000000-${seq}`;
      items.set(seq, {
        packet: saysTrue(packet),
        seq,
        key,
        storedAt: Date.now(),
        attempt: 0,
        owner: undefined,
        timer: undefined,
      });
      match();
      return { duplicate: false };
    },
    take(subject, owner, signal) {
      return new Promise((resolve) => {
        if (signal.aborted) {
          resolve(undefined);
          return;
        }
        const taker: Taker = {
          subject,
          owner,
          resolve(delivery) {
            signal.removeEventListener('abort', onAbort);
            resolve(delivery);
          },
        };
        const onAbort = () => {
          takers.delete(taker);
          taker.resolve(undefined);
        };
        signal.addEventListener('abort', onAbort);
        takers.add(taker);
        match();
      });
    },
    next(subject, from) {
      const item = under(subject).find(({ seq }) => seq >= from);
      return item && { ...item.packet, key: item.key, place: item.seq, storedAt: item.storedAt };
    },
    count: (subject) => under(subject).length,
    remove(subject) {
      for (const { seq, timer } of under(subject)) {
        clearTimeout(timer);
        items.delete(seq);
      }
    },
    texts: (subject) => under(subject).map(({ packet }) => new TextDecoder().decode(packet.bytes)),
    release(owner) {
      for (const taker of takers) {
        if (taker.owner !== owner) continue;
        takers.delete(taker);
        taker.resolve(undefined);
      }
      for (const item of items.values()) if (item.owner === owner) item.owner = undefined;
      match();
    },
  };
}
