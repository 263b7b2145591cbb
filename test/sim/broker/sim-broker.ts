import type { Subjects } from '@agentmesh/protocol';
import type { BrokerLink, CardSink } from '../../../libs/bus/src/bus/broker-link.ts';
import { createBuckets } from '../../../libs/bus/src/memory/memory-buckets.ts';
import type { Life } from '../world/life.ts';
import { between } from '../world/random.ts';
import { Connection } from './connection.ts';
import { CoreSubjects } from './core-subjects.ts';
import { openLink } from './open-link.ts';
import type { Wire } from './wire.ts';
import { type StreamOptions, WorkStream } from './work-stream.ts';

/** A server of NATS with JetStream in virtual time: core messages, work queues, cards and buckets. */
export class SimBroker {
  readonly wire: Wire;
  readonly subjects: Subjects;
  readonly core: CoreSubjects;
  readonly stream: WorkStream;
  readonly buckets = createBuckets();
  readonly #cards = new Map<string, Uint8Array>();
  readonly #connections = new Set<Connection>();

  constructor(wire: Wire, subjects: Subjects, options: Partial<StreamOptions> = {}) {
    this.wire = wire;
    this.subjects = subjects;
    this.core = new CoreSubjects(wire.world);
    this.stream = new WorkStream(wire, { ackWaitMs: 1_500, flushMs: 0, ...options });
  }

  connect(
    life: Life,
    { service, inbox, sink }: { service: string; inbox: string; sink?: CardSink },
  ): BrokerLink {
    const connection = new Connection(this.wire, { life, service, sink });
    this.#connections.add(connection);
    this.#tellCards(connection);
    sink?.noteRead();
    return openLink(this, connection, inbox);
  }

  putCard(key: string, bytes: Uint8Array, onlyIfAbsent = false): void {
    if (onlyIfAbsent && this.#cards.has(key)) return;
    this.#cards.set(key, bytes.slice());
    for (const connection of this.#connections) {
      const { sink } = connection;
      if (sink) connection.toClient(() => sink.set(key, bytes.slice()));
    }
  }

  #tellCards({ sink }: Connection): void {
    for (const [key, bytes] of this.#cards) sink?.set(key, bytes);
  }

  /** Tells whether a message is on its way to the server. */
  get isCarrying(): boolean {
    return [...this.#connections].some((connection) => connection.isCarrying);
  }

  /** Ends the connection of a dead process. What the process has sent is on its way. */
  dropLife(life: Life): void {
    for (const connection of this.#of(life)) connection.drop(() => this.forget(connection));
  }

  /** Forgets a connection that was closed. */
  forget(connection: Connection): void {
    this.#connections.delete(connection);
    this.#silence(connection);
  }

  #silence(connection: Connection): void {
    for (const subscription of connection.subscriptions) this.core.remove(subscription);
    this.stream.endPulls(connection);
  }

  /** Resets the connections of a life, or all: what is on its way is lost. */
  reset(life: Life | undefined, downMs: number): void {
    for (const connection of life ? this.#of(life) : [...this.#connections])
      this.#resetOne(connection, downMs * between(connection.random, 0.8, 1.3));
  }

  #resetOne(connection: Connection, downMs: number): void {
    if (connection.closed.aborted || connection.life.dead) return;
    this.#silence(connection);
    connection.reset(downMs, () => {
      for (const subscription of connection.subscriptions) this.core.add(subscription);
      this.#tellCards(connection);
    });
  }

  /** Holds all bytes of a life back for a time. */
  hold(life: Life, ms: number): void {
    for (const connection of this.#of(life)) connection.hold(ms);
  }

  /** Kills the server, and starts it again with what is on its disk. */
  restart(downMs: number): void {
    this.stream.restart();
    this.reset(undefined, downMs);
  }

  #of(life: Life): Connection[] {
    return [...this.#connections].filter((connection) => connection.life === life);
  }
}
