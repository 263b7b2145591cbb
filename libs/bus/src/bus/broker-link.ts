import type { Headers, MeshError, QueueName } from '@agentmesh/protocol';
import type { ObjectBucket, RecordBucket } from './buckets.ts';

/** What travels: bytes and headers on a subject. */
export interface Packet {
  readonly subject: string;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  /** Where answers go. */
  readonly reply?: string | undefined;
  /** Not a message: the broker says that nobody listens where the request went. */
  readonly noResponders?: boolean;
}

export interface ListenOptions {
  /** Members of a group share the packets. */
  queue?: string;
  /** The broker took the subscription away (permissions changed); nothing comes any more. */
  onLost?: (error: MeshError) => void;
}

/** A subscription. */
export interface Listening {
  /** Ends it; what the broker sent before is still delivered when the promise resolves. Never rejects. */
  drain(): Promise<void>;
}

/** One delivery of a message from a work queue. */
export interface Delivery extends Packet {
  readonly attempt: number;
  readonly key: string;
  /** Puts redelivery off by another ack wait. */
  working(): void;
  /** Resolves when the broker has forgotten the message. */
  ack(): Promise<void>;
  /** Hands the message back, to be delivered again after a while. */
  nak(delayMs: number): void;
}

export interface WorkSource {
  readonly ackWaitMs: number;
  /**
   * Waits for one message; `undefined` when there is none for now (asked too long, connection lost, withdrawn). Nothing is
   * taken from the queue beyond what is returned. Does its own waiting after failures. Never rejects.
   */
  pull(): Promise<Delivery | undefined>;
  /**
   * Asks for nothing more. Resolves when no pull is open, after `withinMs` at the latest; until then one may still bring a
   * message. Never rejects.
   */
  withdraw(withinMs: number): Promise<void>;
}

/** Who is told what lies in the card bucket. */
export interface CardSink {
  set(key: string, bytes: Uint8Array): void;
  delete(key: string): void;
  /** Forgets all keys but these. */
  retain(keys: ReadonlySet<string>): void;
}

/**
 * A connection to a broker, as NATS understands it. What NATS and the twin in memory do differently is behind it;
 * frames, deadlines, heartbeats, slots and discovery are built on it once.
 */
export interface BrokerLink {
  /** Replies to this connection go to `<inbox>.<token>`. */
  readonly inbox: string;
  readonly connected: boolean;
  /** What a message may hold, headers included, in bytes. */
  readonly maxPayload: number;
  /** Aborted when the connection is closed for good. */
  readonly closed: AbortSignal;

  /**
   * Hands a packet to the broker. Dropped when not connected: call `whenConnected` before.
   *
   * @throws MeshError `invalid_argument`
   */
  send(packet: Packet): void;
  /** Resolves when the broker has what was sent before. Never rejects. */
  flush(): Promise<void>;
  /** Resolves when the broker knows of it. @throws MeshError `permission_denied` */
  listen(subject: string, onPacket: (packet: Packet) => void, options?: ListenOptions): Promise<Listening>;
  /** Called each time the connection is back. Returns how to stop. */
  onConnected(listener: () => void): () => void;
  /** Called when the broker refused to take a packet for a subject. Returns how to stop. */
  onDenied(listener: (subject: string) => void): () => void;

  /** Stores a packet that carries `Nats-Msg-Id`. `isSure` is false when a duplicate may be this packet itself, sent again. */
  enqueue(packet: Packet): Promise<{ duplicate: boolean; isSure: boolean }>;
  openWork(queue: QueueName): Promise<WorkSource>;

  putCard(key: string, bytes: Uint8Array): Promise<void>;

  objects(bucket: string): ObjectBucket;
  records(bucket: string): RecordBucket;

  close(): Promise<void>;
}

/** Where defects and refusals are reported; `where` names the part of the bus. */
export type OnError = (error: unknown, where: string) => void;
