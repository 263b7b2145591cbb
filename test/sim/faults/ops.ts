import { crc32 } from 'node:zlib';
import { dead, type Life, never } from '../world/life.ts';
import type { World } from '../world/world.ts';
import { type OpFault, pauseMs } from './op-fault.ts';

/** One operation of a process in the traffic of a history. */
export interface LoggedOp {
  life: string;
  op: number;
  what: string;
}

interface OpsParts {
  world: World;
  faults: readonly OpFault[];
  onCrash: (life: Life) => void;
  onPause: (life: Life, ms: number) => void;
  onFailover: () => void;
}

/** The number of answers that a dead process gets before it gets none: its code may ask again and again. */
const mostLateAnswers = 1_000;

/** The operations of all processes on the bus, the store and the outside: the points at which each may die. */
export class Ops {
  /** Those of the traffic, in the order of the history, while `isLogging`. */
  readonly log: LoggedOp[] = [];
  isLogging = false;
  /** The operations at which a planned fault came. */
  readonly struck: string[] = [];
  readonly #world: World;
  readonly #faults: Map<string, OpFault>;
  readonly #onCrash: OpsParts['onCrash'];
  readonly #onPause: OpsParts['onPause'];
  readonly #onFailover: OpsParts['onFailover'];
  readonly #waiting = new Map<Life, Set<(error: unknown) => void>>();
  readonly #late = new Map<Life, number>();

  constructor({ world, faults, onCrash, onPause, onFailover }: OpsParts) {
    this.#world = world;
    this.#faults = new Map(faults.map((fault) => [`${fault.life} ${fault.op}`, fault]));
    this.#onCrash = onCrash;
    this.#onPause = onPause;
    this.#onFailover = onFailover;
  }

  /** Sends a message without an answer. */
  send(life: Life, what: string, run: () => void, bytes?: Uint8Array): void {
    if (life.dead) return;
    const dies = this.#count(life, what, bytes);
    if (dies === 'before') {
      this.#onCrash(life);
      return;
    }
    // Code of a stopped process runs on to its next wait. What it sends goes out when the process continues.
    this.#world.as(life, run);
    if (dies) this.#onCrash(life);
  }

  /** Makes a call with an answer. `run` asks whether the caller is cut off before it answers. */
  ask<T>(life: Life, what: string, run: (isCutOff: () => boolean) => Promise<T>): Promise<T> {
    if (life.dead) return this.#noAnswer(life);
    const dies = this.#count(life, what);
    if (dies === 'before') {
      this.#onCrash(life);
      return this.#noAnswer(life);
    }
    // With `after`, the server carries the call out, and the caller dies before the answer.
    const isCutOff = () => {
      if (dies && !life.dead) this.#onCrash(life);
      return life.dead;
    };
    return new Promise<T>((resolve, reject) => {
      const waiting = this.#waiting.get(life) ?? new Set();
      this.#waiting.set(life, waiting.add(reject));
      const settle = (done: () => void) => {
        waiting.delete(reject);
        if (!life.dead) done();
      };
      this.#world.as(life, () => {
        run(isCutOff).then(
          (value) => settle(() => resolve(value)),
          (error) => settle(() => reject(error)),
        );
      });
    });
  }

  /** Does something at once, outside of the mesh. */
  act<T>(life: Life, what: string, run: () => T): T {
    if (life.dead) throw dead;
    const dies = this.#count(life, what);
    if (dies === 'before') {
      this.#onCrash(life);
      throw dead;
    }
    const result = run();
    if (dies) this.#onCrash(life);
    return result;
  }

  /** Fails all that a dead process waits for, so that its code lets go of what replicas of this Node process share. */
  bury(life: Life): void {
    const waiting = [...(this.#waiting.get(life) ?? [])];
    this.#waiting.delete(life);
    for (const fail of waiting) fail(dead);
  }

  #noAnswer(life: Life): Promise<never> {
    const late = (this.#late.get(life) ?? 0) + 1;
    this.#late.set(life, late);
    return late > mostLateAnswers ? never() : Promise.reject(dead);
  }

  /** Counts an operation. Tells where the process dies at it, and stops the process if it is to be stopped. */
  #count(life: Life, what: string, bytes?: Uint8Array): 'before' | 'after' | undefined {
    life.ops += 1;
    const body = bytes ? ` ${bytes.length}:${crc32(bytes).toString(16)}` : '';
    this.#world.note(`${life.name} ${life.ops} ${what}${body}`);
    if (this.isLogging) this.log.push({ life: life.name, op: life.ops, what });
    if (this.#faults.size === 0) return undefined;
    const fault = this.#faults.get(`${life.name} ${life.ops}`);
    if (!fault) return undefined;
    this.struck.push(what);
    if (fault.when === 'pause') this.#onPause(life, pauseMs);
    else if (fault.when === 'failover') this.#onFailover();
    else return fault.when;
    return undefined;
  }
}
