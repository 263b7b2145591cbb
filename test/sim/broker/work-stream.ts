import { aloneHeader, header } from '@agentmesh/protocol';
import type { Delivery, Packet, StoredPacket } from '../../../libs/bus/src/bus/broker-link.ts';
import { withoutAlone } from '../../../libs/bus/src/messages/message-headers.ts';
import type { Connection } from './connection.ts';
import { isOfPattern, type Tokens, tokensOf } from './subject-pattern.ts';
import type { Wire } from './wire.ts';

/** The time within which a second message with the same id is dropped, in ms. */
const dedupeMs = 120_000;
/** The time after which a request for work ends, in ms. */
const pullExpiresMs = 1_000;

interface Timer {
  isOff: boolean;
}

/** A message that the stream keeps. */
interface Item {
  packet: Packet;
  subject: Tokens;
  place: number;
  key: string;
  storedAt: number;
  attempt: number;
  /** The timer of its redelivery, while it is in work or was given back with a delay; undefined for a ready item. */
  pending: Timer | undefined;
  /** The number in the order of redelivery of an item that is ready again. */
  turn: number;
  ackedAt?: number;
}

/** A request of a replica for work. */
interface Pull {
  connection: Connection;
  subject: Tokens;
  missing: number;
  onDelivery: (delivery: Delivery) => void;
  onEnd: () => void;
  timer: Timer;
  isOver: boolean;
}

/** The settings of the server, as the provisioning step of a deployment makes them. */
export interface StreamOptions {
  ackWaitMs: number;
  /** Acknowledgements younger than this are lost when the server is killed; 0 for a disk that is always in step. */
  flushMs: number;
}

/** The work queues of JetStream: messages that stay until they are acknowledged. */
export class WorkStream {
  redeliveries = 0;
  readonly #wire: Wire;
  readonly #options: StreamOptions;
  readonly #items = new Map<number, Item>();
  /** The acknowledged messages, the latest last. */
  readonly #acked: Item[] = [];
  readonly #pulls: Pull[] = [];
  readonly #storedIds = new Map<string, number>();
  #lastPlace = 0;
  #lastTurn = 0;

  constructor(wire: Wire, options: StreamOptions) {
    this.#wire = wire;
    this.#options = options;
  }

  get ackWaitMs(): number {
    return this.#options.ackWaitMs;
  }

  /** Returns the messages that are stored. */
  rest(): { subject: string; isPending: boolean; text: string }[] {
    return [...this.#items.values()].map(({ packet, pending }) => ({
      subject: packet.subject,
      isPending: pending !== undefined,
      text: new TextDecoder().decode(packet.bytes),
    }));
  }

  /** Tells whether work is stored: a message whose subject is of none of these kinds. */
  hasWork(notOf: readonly string[]): boolean {
    for (const { packet } of this.#items.values())
      if (!notOf.some((kind) => packet.subject.includes(kind))) return true;
    return false;
  }

  store(packet: Packet): { duplicate: boolean } {
    const { world } = this.#wire;
    const id = packet.headers[header.messageId];
    const storedAt = id === undefined ? undefined : this.#storedIds.get(id);
    if (storedAt !== undefined && world.time - storedAt < dedupeMs) return { duplicate: true };
    if (id !== undefined) this.#storedIds.set(id, world.time);
    this.#lastPlace += 1;
    const place = this.#lastPlace;
    const subject = tokensOf(packet.subject);
    const isAlone = packet.headers[aloneHeader] === undefined || !this.#first(subject, () => true);
    this.#items.set(place, {
      packet: isAlone ? packet : { ...packet, headers: withoutAlone(packet.headers) },
      ...{ subject, place, key: `${world.now()}000000-${place}`, storedAt: world.now() },
      ...{ attempt: 0, pending: undefined, turn: 0 },
    });
    this.#match();
    return { duplicate: false };
  }

  next(subject: string, from: number): StoredPacket | undefined {
    const item = this.#first(tokensOf(subject), ({ place }) => place >= from);
    if (!item) return undefined;
    const { packet, key, place, storedAt } = item;
    return { ...packet, key, place, storedAt };
  }

  pull(connection: Connection, ask: Pick<Pull, 'subject' | 'missing' | 'onDelivery' | 'onEnd'>): void {
    const timer = this.#wire.world.at(pullExpiresMs, () => {
      this.#end(pull);
      connection.toClient(pull.onEnd);
    });
    const pull: Pull = { connection, ...ask, timer, isOver: false };
    this.#pulls.push(pull);
    this.#match();
  }

  /** Forgets what a broken connection has asked for. */
  endPulls(connection: Connection): void {
    for (const pull of [...this.#pulls]) if (pull.connection === connection) this.#end(pull);
  }

  /** Begins again with what is on the disk: late acknowledgements are forgotten, and every ack wait begins anew. */
  restart(): void {
    const { world } = this.#wire;
    const { flushMs, ackWaitMs } = this.#options;
    for (const item of this.#acked.splice(0)) {
      if (world.time - (item.ackedAt ?? 0) < flushMs) this.#forgetAck(item);
    }
    const inOrder = [...this.#items.values()].sort((one, other) => one.place - other.place);
    this.#items.clear();
    for (const item of inOrder) {
      this.#items.set(item.place, item);
      if (item.pending) this.#pend(item, ackWaitMs);
    }
  }

  /** Forgets the last acknowledgement if it is younger than a time, as a server does that loses its leader. */
  forgetLastAck(withinMs: number): void {
    const item = this.#acked.pop();
    if (!item || this.#wire.world.time - (item.ackedAt ?? 0) > withinMs) return;
    this.#forgetAck(item);
    this.#match();
  }

  /** Delivers all work in hand again, as a server does whose clock jumps. */
  redeliverAll(): void {
    for (const item of this.#items.values()) if (item.pending) this.#ready(item);
    this.#match();
  }

  #forgetAck(item: Item): void {
    this.#wire.world.note(`broker forgets the ack of ${item.place}`);
    this.#items.set(item.place, item);
  }

  #first(pattern: Tokens, holds: (item: Item) => boolean): Item | undefined {
    for (const item of this.#items.values())
      if (holds(item) && isOfPattern(pattern, item.subject)) return item;
    return undefined;
  }

  /** Returns the next item for a request: first the items that come again, in the order in which they were ready. */
  #nextFor(pattern: Tokens): Item | undefined {
    let next: Item | undefined;
    for (const item of this.#items.values()) {
      if (item.pending || !isOfPattern(pattern, item.subject)) continue;
      if (item.attempt === 0) return next ?? item;
      if (!next || item.turn < next.turn) next = item;
    }
    return next;
  }

  #match(): void {
    for (const pull of [...this.#pulls]) {
      while (!pull.isOver) {
        const item = this.#nextFor(pull.subject);
        if (!item) break;
        this.#hand(pull, item);
      }
    }
  }

  #hand(pull: Pull, item: Item): void {
    const { world } = this.#wire;
    item.attempt += 1;
    if (item.attempt > 1) this.redeliveries += 1;
    this.#pend(item, this.#options.ackWaitMs);
    pull.missing -= 1;
    const isLast = pull.missing === 0;
    if (isLast) this.#end(pull);
    const delivery = this.#delivery(pull.connection, item);
    pull.connection.toClient(() => {
      const { subject, place, attempt } = delivery;
      world.note(`> ${pull.connection.life.name} work ${subject} ${place} try ${attempt}`);
      pull.onDelivery(delivery);
      if (isLast) pull.onEnd();
    });
  }

  #delivery(connection: Connection, item: Item): Delivery {
    const { packet, attempt, key, place } = item;
    const send = (word: string, run: () => void) => {
      if (!connection.isOpen) return;
      // The server takes the word of an earlier delivery, too.
      const onArrival = () => {
        if (this.#items.get(place) === item) run();
      };
      this.#wire.ops.send(connection.life, `${word} ${packet.subject} ${place}`, () =>
        connection.toServer(onArrival),
      );
    };
    return {
      ...{ ...packet, headers: { ...packet.headers }, bytes: packet.bytes.slice(), reply: undefined },
      ...{ attempt, key, place },
      working: () =>
        send('+WPI', () => {
          if (item.pending) this.#pend(item, this.#options.ackWaitMs);
        }),
      ack: async () => send('+ACK', () => this.#acknowledge(item)),
      nak: (delayMs) => send('-NAK', () => this.#giveBack(item, delayMs)),
    };
  }

  #giveBack(item: Item, delayMs: number): void {
    if (!item.pending) return;
    if (delayMs > 0) this.#pend(item, delayMs);
    else this.#ready(item);
    this.#match();
  }

  #acknowledge(item: Item): void {
    this.#ready(item);
    item.ackedAt = this.#wire.world.time;
    this.#items.delete(item.place);
    this.#acked.push(item);
  }

  #pend(item: Item, ms: number): void {
    this.#ready(item);
    item.pending = this.#wire.world.inOrder(ms, () => {
      this.#ready(item);
      this.#match();
    });
  }

  #ready(item: Item): void {
    this.#lastTurn += 1;
    item.turn = this.#lastTurn;
    if (item.pending) item.pending.isOff = true;
    item.pending = undefined;
  }

  #end(pull: Pull): void {
    pull.isOver = true;
    pull.timer.isOff = true;
    const at = this.#pulls.indexOf(pull);
    if (at >= 0) this.#pulls.splice(at, 1);
  }
}
