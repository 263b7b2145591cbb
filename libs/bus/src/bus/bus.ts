import type { CardInput, Frame, Headers, ServiceKind } from '@agentmesh/protocol';
import type { ObjectBucket, RecordBucket } from './buckets.ts';
import type { Directory } from './directory.ts';

/** A message as a handler gets it. */
export interface Message {
  readonly subject: string;
  readonly headers: Headers;
  /** The payload, unread. */
  readonly bytes: Uint8Array;
  /** Reads the payload as JSON. @throws MeshError `invalid_argument` when it is not JSON. */
  json(): unknown;
}

/** A message from a work queue. The bus acknowledges it after the handler's promise settles. */
export interface WorkItem extends Message {
  /**
   * 1 for the first delivery, more for later deliveries. A server that is killed may forget some: a count that must
   * be exact belongs in the store.
   */
  readonly attempt: number;
  /**
   * The lasting id of the message, unlike its sequence number. All deliveries of the message have the same
   * key.
   */
  readonly key: string;
  /** The number of the message in the stream of its kind of work: the order of acceptance. */
  readonly place: number;
}

/** A message in a stream of work, read without taking it from its queue. */
export type StoredItem = Message & Pick<WorkItem, 'key' | 'place'>;

/** A run command that the server keeps, counts as acknowledged, and will not deliver. */
export interface GhostItem extends Pick<StoredItem, 'subject' | 'key' | 'place'> {
  /** Reads the command, which may be large; undefined when its payload is gone, as after the end of its run. */
  read(): Promise<StoredItem | undefined>;
  /** Removes the command, by its acknowledgement. A server may keep it all the same. */
  drop(): void;
}

/**
 * The result of working on an item: the item is done; the queue delivers it again (to any replica) after
 * `delayMs`; or a later delivery has taken the item over, and the handler of that delivery decides.
 */
export type WorkOutcome =
  | { done: true }
  | { done: false; delayMs: number }
  | { done: false; takenOver: true };

export interface PublishOptions {
  headers?: Headers;
}

export interface EnqueueOptions extends PublishOptions {
  /** The id for deduplication: the queue accepts a second message with this id and drops it. */
  messageId: string;
  /**
   * True for a message that says, by the header `aloneHeader`, whether the queue had another message of its subject:
   * the header is there if it had none. Default false.
   */
  saysWhenAlone?: boolean;
}

export interface RequestOptions extends PublishOptions {
  signal?: AbortSignal;
  /** The longest silence between two frames, in ms; default 3 × {@link heartbeatMs}. */
  silenceMs?: number;
}

/** A request that a service answers. */
export interface IncomingRequest extends Message {
  /** Aborted at the caller's deadline (`Mesh-Deadline`), and when the grace of a stopping service is over. */
  readonly signal: AbortSignal;
}

/**
 * Answers one request: yields `event` and `progress` frames and ends with one `result` frame. An exception
 * becomes the `error` frame. The bus adds numbers, heartbeats, and `accepted` before the
 * first frame that is no answer. A caller that does not accept frames gets only the result.
 */
export type RequestHandler = (request: IncomingRequest) => AsyncIterable<Frame>;

/** A running service, subscription or consumer. */
export interface Started {
  /**
   * Stops taking new work, waits for the current work for `graceMs` at most (default 25 s), then hands the
   * rest back. Idempotent.
   */
  stop(options?: { graceMs?: number }): Promise<void>;
}

export interface ServeOptions {
  /**
   * The number of requests that this replica answers at once; the callers above it get `resource_exhausted`.
   * Default 64.
   */
  maxConcurrency?: number;
}

export interface ConsumeOptions {
  /**
   * The number of items that this replica works on at once. It takes an item from the queue only when a slot
   * is free.
   */
  maxConcurrency: number;
}

/** The description of a service in the NATS services protocol ($SRV.PING, INFO, STATS; ADR-32 of NATS). */
export interface ServiceInfo {
  kind: ServiceKind | 'gateway' | 'keeper';
  /** Letters, digits, `_` and `-`. */
  name: string;
  version: string;
  description: string;
  /** Returns the calls of other services by this process, for the answers about its counters. */
  calls?: () => readonly CountedCalls[];
  /** Tells whether this process is still at the work that it took as this holder. */
  holds?: (holder: string) => boolean;
}

/** The calls of one other service, since the process started. */
export interface CountedCalls {
  to: string;
  kind: ServiceKind;
  how: 'call' | 'transfer';
  count: number;
  errors: number;
}

export interface BusStatus {
  connected: boolean;
}

/** A frame from the wire, with the replica that sent it. */
export type ReceivedFrame = Exclude<Frame, { type: 'error' }> & { replica: string | undefined };

export interface SubscribeOptions {
  /**
   * Called when messages may have been missed: after a time without a connection, and when a payload cannot be
   * read. Then `subject` is the subject of that message.
   */
  onGap?: (subject?: string) => void;
  /** Called when the server has ended the subscription, as after a change of rights. No message comes after that. */
  onLost?: () => void;
  /**
   * True if payloads that are too large for a message are not fetched: `onGap` is called in the place of such a
   * message. Default false.
   */
  skipsLarge?: boolean;
}

/**
 * Messages between services. Two implementations, `connectNats` and `MemoryHub.connect`, pass one conformance
 * suite. Every method that sends waits while the connection is down (5 s at most), then throws MeshError
 * `unavailable`; the bus never drops a message silently.
 */
export interface Bus extends AsyncDisposable {
  /** The name of the service, under which it may publish news. */
  readonly service: string;
  /** The id of this process among the replicas of its service: `<service>-<pid>-<random>`. */
  readonly replica: string;
  status(): BusStatus;

  /** Sends the payload as JSON to the current listeners. May lose messages: for news, not for facts. */
  publish(subject: string, payload: unknown, options?: PublishOptions): Promise<void>;
  /** Subscribes; the promise resolves when the server knows the subscription. `onMessage` must not throw. */
  subscribe(
    subject: string,
    onMessage: (message: Message) => void,
    options?: SubscribeOptions,
  ): Promise<Started>;

  /**
   * Asks one replica and yields its frames in order, the `result` last.
   *
   * @throws MeshError the callee's error; `unavailable` at once when nobody listens, after `silenceMs`
   * without a frame, or on a gap in the numbers; `cancelled` / `deadline_exceeded` by the signal and the
   * `Mesh-Deadline` header.
   */
  request(subject: string, payload: unknown, options?: RequestOptions): AsyncIterable<ReceivedFrame>;
  /** Answers requests; the replicas share them (queue group). */
  serve(subject: string, handler: RequestHandler, options?: ServeOptions): Promise<Started>;

  /** Puts a message on a work queue. Once the promise has resolved, the message survives every crash. */
  enqueue(subject: string, payload: unknown, options: EnqueueOptions): Promise<{ duplicate: boolean }>;
  /**
   * Works on the run queue of an agent, which its replicas share. The queue does not redeliver an item while
   * the handler works on it. When this process dies, another replica gets the item. When the handler throws,
   * the queue delivers the item again after a second.
   */
  consumeRuns(
    agent: string,
    handler: (item: WorkItem) => Promise<WorkOutcome>,
    options: ConsumeOptions,
  ): Promise<Started>;
  /**
   * Yields the run commands of sessions with this id that were accepted before a place and are not
   * acknowledged, in order. Takes nothing from a queue.
   *
   * @throws MeshError `permission_denied` for a service without the right to read the stream of runs
   */
  earlierRuns(session: string, before: number): AsyncIterable<StoredItem>;
  /**
   * Yields the ghosts among the run commands of an agent whose queue this process works on, in order of acceptance: a
   * killed server may begin its numbers anew, and then takes new commands for old ones.
   *
   * @param maxAgeMs the age up to which a ghost is yielded, in ms
   * @throws MeshError `permission_denied` for a service without the right to read the stream of runs
   */
  ghostRuns(agent: string, maxAgeMs: number): AsyncIterable<GhostItem>;
  /**
   * Works on the updates of the long-running calls of the agent's service, as {@link Bus.consumeRuns} does on
   * runs.
   */
  consumeOperations(
    agent: string,
    handler: (item: WorkItem) => Promise<WorkOutcome>,
    options: ConsumeOptions,
  ): Promise<Started>;
  /** Works on the jobs of a long-running tool, as {@link Bus.consumeRuns} does on runs. */
  consumeJobs(
    tool: string,
    handler: (item: WorkItem) => Promise<WorkOutcome>,
    options: ConsumeOptions,
  ): Promise<Started>;

  /**
   * Writes the card of a service. The card stays when the service stops.
   *
   * @param options.onlyIfAbsent true to write nothing where the bucket has a card of the service, or the mark of its
   * removal by an operator; default false
   */
  announce(card: CardInput, options?: { onlyIfAbsent?: boolean }): Promise<void>;
  readonly directory: Directory;

  /** Opens a bucket of bytes of any length, which the provisioning step has made. */
  objects(bucket: string): ObjectBucket;
  /** Opens a bucket of small values with conditional changes, which the provisioning step has made. */
  records(bucket: string): RecordBucket;

  /**
   * Answers $SRV.PING, INFO and STATS for this service. After the stop the replica still answers a PING to
   * itself alone, until its bus is closed: {@link Bus.isGone} tells about processes, not about services.
   */
  register(info: ServiceInfo, subjects: string[]): Promise<Started>;
  /**
   * Tells whether a replica of the service listens now. Asks by $SRV.PING; when there is none, this takes
   * about a millisecond. A replica that listens and is silent counts, as on a busy machine.
   *
   * @throws MeshError `unavailable` when the server gives no answer, or this process has no connection
   */
  isServed(name: string): Promise<boolean>;
  /**
   * Tells whether the server knows no connection of a registered replica: its process is dead, or cut off. A
   * paused process keeps its connection, so it is not gone. Also false for five seconds after this process has
   * connected, since the other processes may need this time to come back after a restart of the server.
   *
   * @param holder a holder of work: true also if the replica answers that it is not at this work, as after a failover
   * of the store that lost the end of the work
   * @throws MeshError `unavailable` while this process has no connection
   */
  isGone(service: string, replica: string, holder?: string): Promise<boolean>;
}

/** The interval of heartbeats in a reply stream while the handler is silent, in ms. */
export const heartbeatMs = 1_000;

/** The queue group in which all replicas share requests. */
export const queueGroup = 'q';
