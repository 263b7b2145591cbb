import type { Random } from '@agentmesh/testing';
import type { Packet } from '../../../libs/bus/src/bus/broker-link.ts';
import type { Life } from '../world/life.ts';
import type { World } from '../world/world.ts';
import type { Subscription } from './connection.ts';
import { isOfPattern, type Tokens, tokensOf } from './subject-pattern.ts';

/** The subscriptions that the server knows, and the delivery of messages to them. */
export class CoreSubjects {
  readonly #world: World;
  readonly #random: Random;
  readonly #subscriptions = new Map<Subscription, Tokens>();
  /** Learns how long each message was on its way, in virtual time. */
  onArrival: (life: Life, subject: string, sentAt: number) => void = () => {};

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork('core');
  }

  add(subscription: Subscription): void {
    this.#subscriptions.set(subscription, tokensOf(subscription.pattern));
  }

  remove(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
  }

  /** Delivers a packet. Tells a requester that nobody listens. */
  publish(packet: Packet): void {
    const receivers = this.#route(packet.subject);
    if (receivers.length === 0 && packet.reply !== undefined) {
      const notice = { subject: packet.reply, headers: {}, bytes: new Uint8Array(), noResponders: true };
      for (const receiver of this.#route(packet.reply)) this.#deliver(receiver, notice);
    }
    for (const receiver of receivers) this.#deliver(receiver, packet);
  }

  /** Returns all plain subscriptions of a subject, and one member of each group. */
  #route(subject: string): Subscription[] {
    const receivers: Subscription[] = [];
    const groups = new Map<string, Subscription[]>();
    const tokens = tokensOf(subject);
    for (const [subscription, pattern] of this.#subscriptions) {
      const { queue } = subscription;
      if (!isOfPattern(pattern, tokens)) continue;
      if (queue === undefined) receivers.push(subscription);
      else groups.set(queue, [...(groups.get(queue) ?? []), subscription]);
    }
    return [...receivers, ...[...groups.values()].map((members) => this.#random.pick(members))];
  }

  #deliver(receiver: Subscription, packet: Packet): void {
    const { connection } = receiver;
    const copy = { ...packet, headers: { ...packet.headers }, bytes: packet.bytes.slice() };
    const sentAt = this.#world.time;
    connection.toClient(() => {
      if (!connection.subscriptions.has(receiver)) return;
      this.#world.note(
        `> ${connection.life.name} ${packet.subject}${packet.noResponders ? ' (nobody)' : ''}`,
      );
      this.onArrival(connection.life, packet.subject, sentAt);
      receiver.onPacket(copy);
    });
  }
}
