import type { Random } from '@agentmesh/testing';
import type { CardSink, Packet } from '../../../libs/bus/src/bus/broker-link.ts';
import type { Life } from '../world/life.ts';
import { latency, type Wire } from './wire.ts';

/** A subscription of a connection. */
export interface Subscription {
  connection: Connection;
  pattern: string;
  queue: string | undefined;
  onPacket: (packet: Packet) => void;
}

/** One TCP connection: two lanes, in which messages stay in order. A reset loses what is on its way in both. */
export class Connection {
  readonly life: Life;
  readonly service: string;
  readonly sink: CardSink | undefined;
  readonly subscriptions = new Set<Subscription>();
  readonly onUp = new Set<() => void>();
  readonly onDown = new Set<() => void>();
  readonly random: Random;
  readonly #closing = new AbortController();
  readonly #wire: Wire;
  isUp = true;
  #epoch = 0;
  /** The virtual time before which nothing passes. */
  #heldUntil = 0;
  #lastIn = 0;
  #lastOut = 0;

  constructor(wire: Wire, { life, service, sink }: Pick<Connection, 'life' | 'service' | 'sink'>) {
    this.#wire = wire;
    this.life = life;
    this.service = service;
    this.sink = sink;
    this.random = wire.world.random.fork(`connection/${life.name}`);
  }

  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  get isOpen(): boolean {
    return this.isUp && !this.closed.aborted;
  }

  close(): void {
    this.#closing.abort();
  }

  /** Tells whether a message to the server is on its way, also after the death of its process. */
  get isCarrying(): boolean {
    return this.#lastIn > this.#wire.world.time;
  }

  /** Carries a message to the server. */
  toServer(run: () => void): void {
    const { world } = this.#wire;
    const epoch = this.#epoch;
    this.#lastIn = Math.max(this.#lastIn, world.time, this.#heldUntil) + latency(this.#wire, this.random);
    world.inOrder(this.#lastIn - world.time, () => {
      // The messages that a process sent before its death arrive. They are no work of the process any more.
      if (this.#epoch === epoch || (this.life.dead && this.#epoch === epoch + 1)) run();
    });
  }

  /** Carries a message from the server to the process. */
  toClient(run: () => void): void {
    const { world } = this.#wire;
    const epoch = this.#epoch;
    this.#lastOut = Math.max(this.#lastOut, world.time, this.#heldUntil) + latency(this.#wire, this.random);
    world.inOrder(this.#lastOut - world.time, () => {
      if (this.#epoch === epoch && !this.closed.aborted) world.as(this.life, run);
    });
  }

  /** Ends the connection of a dead process, after all that it has sent has arrived. */
  drop(forget: () => void): void {
    const { world } = this.#wire;
    this.#epoch += 1;
    world.at(Math.max(0, this.#lastIn - world.time) + 2 * this.random.next(), forget);
  }

  /** Breaks the connection. Calls `onBack` when it is up again; not when it broke once more meanwhile. */
  reset(downMs: number, onBack: () => void): void {
    const { world } = this.#wire;
    this.#epoch += 1;
    this.isUp = false;
    const epoch = this.#epoch;
    world.at(0, () => world.as(this.life, () => this.#call(this.onDown)));
    world.at(downMs, () => {
      if (this.closed.aborted || this.life.dead || this.#epoch !== epoch) return;
      this.isUp = true;
      this.#lastIn = this.#lastOut = world.time;
      onBack();
      world.as(this.life, () => this.#call(this.onUp));
    });
  }

  #call(listeners: ReadonlySet<() => void>): void {
    for (const listener of [...listeners]) listener();
  }

  /** Holds all bytes back for a time, as a network does that loses packets. */
  hold(ms: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, this.#wire.world.time + ms);
  }
}
