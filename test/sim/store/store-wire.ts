import { MeshError } from '@agentmesh/protocol';
import type { Random } from '@agentmesh/testing';
import type { Wire } from '../broker/wire.ts';
import { type Life, never, runAs } from '../world/life.ts';
import { between } from '../world/random.ts';
import type { Replica } from './replica.ts';

/** The pause before a call is made again, and the time for a call, in ms. */
const pauseMs = 50;
const timeoutMs = 5_000;
/** The longest pause while the store is away, in ms. */
const longestPauseMs = 250;
/** The least and the usual longest time of a message, in ms. */
const usualMs = [0.05, 0.5] as const;

type Answer<T> = { value: T } | { error: unknown };

/** One call of a process to the store. */
interface Call<T> {
  /** The name of the script or the command. */
  name: string;
  carryOut: () => T;
  /** Whether the caller waits until the replica has all writes, if the history has such callers. */
  waits: boolean;
  random: Random;
}

/** The calls of processes to the store. A call is made again while it gets no answer. */
export class StoreWire {
  readonly wire: Wire;
  readonly replica: Replica;
  /** No call gets an answer before this virtual time. */
  awayUntil = 0;
  readonly #cutUntil = new Map<Life, number>();

  constructor(wire: Wire, replica: Replica) {
    this.wire = wire;
    this.replica = replica;
  }

  /** Lets the replica, which gets no writes for a time, take the place of the server, which is gone for a time then. */
  failOver(cutMs: number, awayMs: number): void {
    this.replica.failOver(cutMs, () => {
      this.awayUntil = Math.max(this.awayUntil, this.wire.world.time + awayMs);
    });
  }

  /** Cuts a process off from the store for a time. */
  cut(life: Life, ms: number): void {
    this.#cutUntil.set(life, this.wire.world.time + ms);
  }

  /** Makes a call. @throws MeshError `unavailable` without an answer */
  call<T>(life: Life, call: Call<T>): Promise<T> {
    const { world, ops, rates } = this.wire;
    const { name, random } = call;
    return ops.ask(life, name, async (isCutOff) => {
      const deadline = world.time + timeoutMs;
      const isFailed = chance(random, rates.failedCall);
      // A call that fails may have been carried out.
      if (isFailed && random.chance(0.5)) await this.#pass(life, call, isCutOff);
      while (!isFailed && world.time + pauseMs < deadline) {
        const awayMs = this.#awayMs(life);
        const answer = awayMs > 0 ? undefined : await this.#try(life, call, isCutOff);
        if (answer) return contentOf(answer);
        if (life.dead) return await never();
        world.note(`${life.name} ${name} unanswered`);
        await this.#wait(life, awayMs > 0 ? Math.min(awayMs, longestPauseMs) : pauseMs);
      }
      await this.#wait(life, Math.max(0, deadline - world.time));
      throw new MeshError('unavailable', `redis did not answer within ${timeoutMs} ms (${name})`, {
        details: { reason: 'away' },
      });
    });
  }

  #awayMs(life: Life): number {
    return Math.max(this.awayUntil, this.#cutUntil.get(life) ?? 0) - this.wire.world.time;
  }

  /** Makes one attempt at a call. Returns undefined when the call or its reply is lost. */
  async #try<T>(life: Life, call: Call<T>, isCutOff: () => boolean): Promise<Answer<T> | undefined> {
    const { lostCall, lostReply } = this.wire.rates;
    if (chance(call.random, lostCall)) return undefined;
    const isUnheard = chance(call.random, lostReply);
    const answer = await this.#pass(life, call, isCutOff);
    return isUnheard ? undefined : answer;
  }

  /**
   * Carries a call to the store, and its answer back. The store carries it out also if the caller dies meanwhile. A
   * failover breaks the connection on which the caller waits for the replica: the answer is undefined.
   */
  #pass<T>(life: Life, call: Call<T>, isCutOff: () => boolean): Promise<Answer<T> | undefined> {
    const { world } = this.wire;
    const { random, carryOut, waits } = call;
    const { promise, resolve } = Promise.withResolvers<Answer<T> | undefined>();
    const back = (answer: Answer<T>) => {
      if (isCutOff()) return;
      const onPromoted = () => world.as(life, () => resolve(undefined));
      if (waits && 'value' in answer && this.replica.holdsUp(onPromoted)) return;
      world.at(this.#latency(random), () => world.as(life, () => resolve(answer)));
    };
    world.at(this.#latency(random), () => {
      try {
        back({ value: runAs(undefined, carryOut) });
      } catch (error) {
        back({ error });
      }
    });
    return promise;
  }

  #latency(random: Random): number {
    const { slowMessage, slowMs } = this.wire.rates;
    const base = between(random, ...usualMs);
    return chance(random, slowMessage) ? base + between(random, 5, slowMs) : base;
  }

  #wait(life: Life, ms: number): Promise<void> {
    const { world } = this.wire;
    return new Promise((resolve) => world.at(ms, () => world.as(life, resolve)));
  }
}

const chance = (random: Random, share: number) => share > 0 && random.chance(share);

function contentOf<T>(answer: Answer<T>): T {
  if ('error' in answer) throw answer.error;
  return answer.value;
}
