import type { Headers, MeshError, QueueKind, QueueName } from '@agentmesh/protocol';
import type { ObjectBucket, RecordBucket } from './buckets.ts';

/** A message of the broker: bytes and headers on a subject. */
export interface Packet {
  readonly subject: string;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  /** The subject for answers. */
  readonly reply?: string | undefined;
  /** True for a notice of the broker, which is no message: nobody listens on the subject of the request. */
  readonly noResponders?: boolean;
}

export interface ListenOptions {
  /** Members of a group share the packets. */
  queue?: string;
  /** Called when the broker has ended the subscription (permissions changed). No packet comes after that. */
  onLost?: (error: MeshError) => void;
}

/** A subscription. */
export interface Listening {
  /**
   * Ends the subscription. Resolves after the packets that the broker sent before are delivered. Never
   * rejects.
   */
  drain(): Promise<void>;
}

/** One delivery of a message from a work queue. */
export interface Delivery extends Packet {
  readonly attempt: number;
  readonly key: string;
  /** The number of the message in its stream. */
  readonly place: number;
  /** Delays redelivery by another ack wait. */
  working(): void;
  /** Acknowledges the message. Resolves when the broker has removed it. */
  ack(): Promise<void>;
  /** Returns the message to the queue, which delivers it again after the delay. */
  nak(delayMs: number): void;
}

/** A message in a stream of work, read without taking it from its queue. */
export interface StoredPacket extends Packet, Pick<Delivery, 'key' | 'place'> {
  /** The time at which it was stored, in epoch ms. */
  readonly storedAt: number;
}

/** One work queue, as a replica reads it. */
export interface WorkSource {
  readonly ackWaitMs: number;
  /**
   * Asks for some messages and hands over each as it comes. Resolves when all have come, and when no more will
   * come (the request expired, the connection was lost, or the source is withdrawn). Takes no other message
   * from the queue. Pauses by itself after a failure. Never rejects.
   */
  pull(count: number, take: (delivery: Delivery) => void): Promise<void>;
  /**
   * Stops asking for messages. Resolves when no pull is open, after `withinMs` at the latest; until then an
   * open pull may still hand over messages. Never rejects.
   */
  withdraw(withinMs: number): Promise<void>;
}

/** The receiver of the contents of the card bucket. */
export interface CardSink {
  set(key: string, bytes: Uint8Array): void;
  delete(key: string): void;
  /** Forgets all other keys. */
  retain(keys: ReadonlySet<string>): void;
  /** Notes that the sink has all cards, or will get none. */
  noteRead(): void;
}

/**
 * A connection to a broker, in the terms of NATS. The link hides the differences between NATS and the
 * in-memory twin. Frames, deadlines, heartbeats, slots and discovery are built on the link, once for both.
 */
export interface BrokerLink {
  /** Replies to this connection go to `<inbox>.<token>`. */
  readonly inbox: string;
  readonly connected: boolean;
  /** The largest size of a message with its headers, in bytes. */
  readonly maxPayload: number;
  /** Aborted when the connection is closed for good. */
  readonly closed: AbortSignal;

  /**
   * Hands a packet to the broker. Drops the packet when there is no connection: call `whenConnected` before.
   *
   * @throws MeshError `invalid_argument`
   */
  send(packet: Packet): void;
  /** Resolves when the broker has all packets that were sent before. Never rejects. */
  flush(): Promise<void>;
  /** Subscribes. Resolves when the broker knows the subscription. @throws MeshError `permission_denied` */
  listen(subject: string, onPacket: (packet: Packet) => void, options?: ListenOptions): Promise<Listening>;
  /** Calls the listener after each reconnect. Returns a function that removes the listener. */
  onConnected(listener: () => void): () => void;
  /**
   * Calls the listener when the broker refused a packet for a subject. Returns a function that removes the
   * listener.
   */
  onDenied(listener: (subject: string) => void): () => void;

  /**
   * Stores a packet that carries `Nats-Msg-Id`. A packet with `aloneHeader` loses it when the queue has another
   * message of its subject. `isSure` is false when the duplicate may be this same packet,
   * which an earlier try has stored.
   */
  enqueue(packet: Packet): Promise<{ duplicate: boolean; isSure: boolean }>;
  openWork(queue: QueueName): Promise<WorkSource>;
  /** Reads the first message of a kind of work with this subject, or pattern, and at least this number. */
  nextWork(kind: QueueKind, subject: string, from: number): Promise<StoredPacket | undefined>;
  /**
   * Returns the number up to which all messages of a queue are acknowledged; undefined for a queue that this
   * connection does not work on.
   */
  ackFloor(queue: QueueName): Promise<number | undefined>;
  /** Acknowledges the message with this number, which was not delivered to this connection. */
  ackStored(queue: QueueName, place: number): void;

  /** @param onlyIfAbsent true to write nothing where the key has a card, or the mark of its removal */
  putCard(key: string, bytes: Uint8Array, onlyIfAbsent?: boolean): Promise<void>;

  /** @param isWrittenOnce true for a bucket in which the first record of an object counts, and no later one */
  objects(bucket: string, isWrittenOnce?: boolean): ObjectBucket;
  records(bucket: string): RecordBucket;

  close(): Promise<void>;
}

/** The receiver of defects and refusals; `where` names the part of the bus. */
export type OnError = (error: unknown, where: string) => void;
