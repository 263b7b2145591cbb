import {
  assertOptions,
  createReplicaId,
  type OptionNames,
  type Provisioned,
  subjects,
} from '@agentmesh/protocol';
import type { BrokerLink, CardSink, OnError } from '../bus/broker-link.ts';
import type { Bus } from '../bus/bus.ts';
import { createBus } from '../connect/create-bus.ts';
import { createDirectory } from '../discovery/directory.ts';
import { encodeJson } from '../messages/json.ts';
import { createBroker } from './broker.ts';
import { createBuckets } from './memory-buckets.ts';
import { createMemoryLink, type MemoryLink } from './memory-link.ts';
import { createWorkQueues } from './work-queue.ts';

export interface MemoryHubOptions {
  /** Default `mesh`. */
  namespace?: string;
}

export interface MemoryConnectOptions {
  /** Name of the service that connects. */
  service: string;
  /** The receiver of defects: exceptions of handlers, cards that cannot be read. Default: none. */
  onError?: OnError;
  /** The interval of heartbeats in reply streams, in ms; default 1,000. */
  heartbeatMs?: number;
}

const hubOptions: OptionNames<MemoryHubOptions> = { namespace: true };
const connectOptions: OptionNames<MemoryConnectOptions> = { service: true, onError: true, heartbeatMs: true };

/**
 * A network in memory: the buses of one hub talk to each other as if over NATS. Payloads are written as JSON
 * and read again, as on the wire. Work items live as long as the hub; nothing needs provisioning.
 */
export class MemoryHub {
  readonly #subjects;
  readonly #broker = createBroker();
  readonly #queues = createWorkQueues();
  readonly #buckets = createBuckets();
  readonly #cards = new Map<string, Uint8Array>();
  readonly #sinks = new Set<CardSink>();
  readonly #links = new WeakMap<Bus, MemoryLink>();

  constructor(options: MemoryHubOptions = {}) {
    assertOptions('a MemoryHub', options, hubOptions);
    this.#subjects = subjects(options.namespace);
  }

  async connect(options: MemoryConnectOptions): Promise<Bus> {
    assertOptions('connect', options, connectOptions);
    const { service, onError = () => {}, heartbeatMs } = options;
    const link = this.#open(service);
    const { directory, sink } = createDirectory(this.#subjects, onError);
    for (const [key, bytes] of this.#cards) sink.set(key, bytes);
    sink.noteRead();
    this.#sinks.add(sink);
    link.closed.addEventListener('abort', () => this.#sinks.delete(sink));
    const replica = createReplicaId(service);
    const bus = createBus({
      link,
      service,
      replica,
      subjects: this.#subjects,
      directory,
      onError,
      heartbeatMs,
      reconnects: false,
    });
    this.#links.set(bus, link);
    return bus;
  }

  /**
   * Ends a bus without notice, as the death of its process would. Its calls end in silence, and other buses
   * get its work items.
   */
  kill(bus: Bus): void {
    this.#links.get(bus)?.kill();
  }

  /** Records for what agents are provisioned, as the provisioning step does. */
  provision(services: readonly Provisioned[]): void {
    for (const each of services) this.#putCard(this.#subjects.provisionedKey(each.name), encodeJson(each));
  }

  /** Returns the number of work items or dead letters under a subject. */
  queued(subject: string): number {
    return this.#queues.count(subject);
  }

  /** Returns the work items or dead letters under a subject, as text, in order. */
  queuedTexts(subject: string): string[] {
    return this.#queues.texts(subject);
  }

  /** Removes the work items or dead letters under a subject, as an operator may do. */
  remove(subject: string): void {
    this.#queues.remove(subject);
  }

  /** Loses all cards, as a server does that loses its disk. */
  loseCards(): void {
    for (const sink of this.#sinks) for (const key of this.#cards.keys()) sink.delete(key);
    this.#cards.clear();
  }

  /** Opens a connection without our code above it, as a client in another language has it. */
  openLink(service: string): BrokerLink {
    return this.#open(service);
  }

  #open(service: string): MemoryLink {
    const parts = {
      broker: this.#broker,
      queues: this.#queues,
      buckets: this.#buckets,
      putCard: (key: string, bytes: Uint8Array, onlyIfAbsent?: boolean) =>
        this.#putCard(key, bytes, onlyIfAbsent),
    };
    return createMemoryLink(parts, this.#subjects, service);
  }

  #putCard(key: string, bytes: Uint8Array, onlyIfAbsent = false): void {
    if (onlyIfAbsent && this.#cards.has(key)) return;
    this.#cards.set(key, bytes.slice());
    for (const sink of this.#sinks) queueMicrotask(() => sink.set(key, bytes));
  }
}
