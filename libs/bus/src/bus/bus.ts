import type { Card, CardInput, Frame, Headers, ServiceKind } from '@agentmesh/protocol';
import type { ObjectBucket, RecordBucket } from './buckets.ts';

/** A message as handlers see it. */
export interface Message {
  readonly subject: string;
  readonly headers: Headers;
  /** The payload as it came. */
  readonly bytes: Uint8Array;
  /** The payload read as JSON. @throws MeshError `invalid_argument` when it is not JSON. */
  json(): unknown;
}

/** A message taken from a work queue. Not acknowledged until the handler's promise settles. */
export interface WorkItem extends Message {
  /**
   * 1 for the first delivery, more for later ones. nats-server 2.9 was seen not to count when the time of a redelivery came just as nobody asked for
   * work: what must be known for certain is counted in the store.
   */
  readonly attempt: number;
  /** Identifies the message for ever, unlike its sequence number: does not change when it is delivered again. */
  readonly key: string;
}

/**
 * What became of a work item: done for good; to be delivered again (to any replica) after `delayMs`; or taken over by a later delivery, whose
 * holder will say what becomes of it.
 */
export type WorkOutcome =
  | { done: true }
  | { done: false; delayMs: number }
  | { done: false; takenOver: true };

export interface PublishOptions {
  headers?: Headers;
}

export interface EnqueueOptions extends PublishOptions {
  /** Deduplication: a second message of this id is accepted and dropped. */
  messageId: string;
}

export interface RequestOptions extends PublishOptions {
  signal?: AbortSignal;
  /** Longest silence between two frames, in ms; default 3 × {@link heartbeatMs}. */
  silenceMs?: number;
}

/** A request that a service answers. */
export interface IncomingRequest extends Message {
  /** Aborted at the caller's deadline (`Mesh-Deadline`), and when the service stops without waiting any longer. */
  readonly signal: AbortSignal;
}

/**
 * Answers one request: yields `event` and `progress` frames and ends with one `result` frame. What it throws becomes the `error` frame.
 * `accepted`, numbers and heartbeats are the bus' work. A caller that takes no frames gets the result alone.
 */
export type RequestHandler = (request: IncomingRequest) => AsyncIterable<Frame>;

/** Something that was started and can be stopped. */
export interface Started {
  /** Stops taking new work, waits for what is in hand for `graceMs` at most (default 25 s), then hands the rest back. Idempotent. */
  stop(options?: { graceMs?: number }): Promise<void>;
}

export interface ServeOptions {
  /** Requests answered at once by this replica; over it, callers get `resource_exhausted` at once. Default 64. */
  maxInFlight?: number;
}

export interface ConsumeOptions {
  /** Items worked on at once by this replica; it takes no more from the queue than it has slots for. */
  slots: number;
}

/** What a service shows of itself by the NATS services protocol ($SRV.PING, INFO, STATS; ADR-32 of NATS). */
export interface ServiceInfo {
  kind: ServiceKind | 'gateway';
  /** Letters, digits, `_` and `-`. */
  name: string;
  version: string;
  description: string;
}

/** Who there is: cards by kind and name, kept current while the bus is open. Reads are synchronous. */
export interface Directory {
  get(kind: ServiceKind, name: string): Card | undefined;
  list(kind: ServiceKind): Card[];
  /** Called after each change, at once for what is there already. Returns how to stop. */
  watch(onChange: () => void): () => void;
}

export interface BusStatus {
  connected: boolean;
}

/** A frame that has come over the wire, and who sent it. */
export type ReceivedFrame = Exclude<Frame, { type: 'error' }> & { replica: string | undefined };

/**
 * Messages between services. Two implementations, one conformance suite: `connectNats` and `MemoryHub.connect`.
 * Every method that sends waits for the connection while it is down (5 s at most), then throws MeshError `unavailable`; nothing is dropped silently.
 */
export interface Bus extends AsyncDisposable {
  /** This process among the replicas of its service: `<service>-<pid>-<random>`. */
  readonly replica: string;
  status(): BusStatus;

  /** Sends to whoever listens now; payload is sent as JSON. Lossy by nature: for news, not for facts. */
  publish(subject: string, payload: unknown, options?: PublishOptions): Promise<void>;
  /**
   * Listens; the promise resolves when the server knows of it. `onMessage` must not throw. `onGap` is called after a time without
   * connection, when messages may have been missed.
   */
  subscribe(subject: string, onMessage: (message: Message) => void, onGap?: () => void): Promise<Started>;

  /**
   * Asks one replica and yields its frames in order, the `result` last.
   *
   * @throws MeshError the callee's error; `unavailable` at once when nobody listens, after `silenceMs` without a frame, or on a gap in
   * the numbers; `cancelled` / `deadline_exceeded` by the signal and the `Mesh-Deadline` header.
   */
  request(subject: string, payload: unknown, options?: RequestOptions): AsyncIterable<ReceivedFrame>;
  /** Answers requests, sharing them with the other replicas (queue group). */
  serve(subject: string, handler: RequestHandler, options?: ServeOptions): Promise<Started>;

  /** Puts a message on a work queue. When the promise resolves, the message outlives every crash. */
  enqueue(subject: string, payload: unknown, options: EnqueueOptions): Promise<{ duplicate: boolean }>;
  /**
   * Works on the run queue of an agent, shared with its other replicas. While the handler works the item is kept from
   * redelivery; when this process dies it is delivered to another. A handler that throws gets the item delivered again after a second.
   */
  consumeRuns(
    agent: string,
    handler: (item: WorkItem) => Promise<WorkOutcome>,
    options: ConsumeOptions,
  ): Promise<Started>;
  /** As {@link Bus.consumeRuns}: the updates of long-running calls that the agent's service made. */
  consumeOperations(
    agent: string,
    handler: (item: WorkItem) => Promise<WorkOutcome>,
    options: ConsumeOptions,
  ): Promise<Started>;
  /** As {@link Bus.consumeRuns}: the jobs of a long-running tool. */
  consumeJobs(
    tool: string,
    handler: (item: WorkItem) => Promise<WorkOutcome>,
    options: ConsumeOptions,
  ): Promise<Started>;

  /** Writes the card of a service; it stays when the service stops. */
  announce(card: CardInput): Promise<void>;
  readonly directory: Directory;

  /** Bytes of any length; the bucket was made by the provisioning step. */
  objects(bucket: string): ObjectBucket;
  /** Small values that change one upon the other; the bucket was made by the provisioning step. */
  records(bucket: string): RecordBucket;

  /** Answers $SRV.PING, INFO and STATS for this service. */
  register(info: ServiceInfo, subjects: string[]): Promise<Started>;
  /** Is any replica of a service listening now? Answered by $SRV.PING in about a millisecond when none is. */
  isServed(name: string): Promise<boolean>;
}

/** Interval of heartbeats in a reply stream while the handler is silent, in ms. */
export const heartbeatMs = 1_000;

/** Queue group of all replicas that share requests. */
export const queueGroup = 'q';
