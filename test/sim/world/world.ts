import { type Random, seededRandom } from '@agentmesh/testing';
import { type Due, EventQueue } from './event-queue.ts';
import { type Life, lifeNow, runAs } from './life.ts';
import { real } from './real.ts';
import { Trace } from './trace.ts';

/** The wall clock at the beginning of every history, in epoch ms. */
const epoch = 1_750_000_000_000;
/** The number of events between two turns of the real event loop, which nothing waits for. */
const eventsPerTurn = 5_000;

/**
 * Runs all microtasks and ticks that are ready, as Node does between two macrotasks. Works only from a macrotask.
 * The function is undocumented; `world.test.ts` pins its behaviour.
 */
const drain = (process as unknown as { _tickCallback(): void })._tickCallback;

/** Virtual time, and a seeded order of all events. */
export class World {
  readonly random: Random;
  readonly trace: Trace;
  /** Errors that no code has caught. */
  readonly defects: string[] = [];
  /** How far the clocks of places are ahead, in ms. */
  readonly skews = new Map<string, number>();
  /** Virtual ms since the beginning. */
  time = 0;
  readonly #streams = new Map<string, Random>();
  readonly #ties: Random;
  readonly #queue = new EventQueue();
  #count = 0;

  constructor(seed: string, keepsTrace = false) {
    this.random = seededRandom(seed);
    this.#ties = this.random.fork('ties');
    this.trace = new Trace(keepsTrace);
  }

  /** The wall clock in epoch ms. */
  now(): number {
    return epoch + Math.floor(this.time);
  }

  /** Adds a line to the trace that does not count for its hash. */
  aside(line: string): void {
    this.trace.addAside(`${this.time.toFixed(3)} ${line}`);
  }

  /** Returns random numbers for the code that runs now: the draws of one process do not change another one's. */
  randomOf(kind: string): Random {
    const name = `${kind}/${lifeNow()?.name ?? ''}`;
    const stream = this.#streams.get(name) ?? this.random.fork(name);
    this.#streams.set(name, stream);
    return stream;
  }

  note(line: string): void {
    this.trace.add(`${this.time.toFixed(3)} ${line}`);
  }

  /**
   * Calls a function later, in a turn of its own: all microtasks of a turn are done before the next one. The order of
   * two functions of one time is random.
   */
  at(delayMs: number, run: () => void): Due {
    return this.#push(delayMs, this.#ties.next(), run);
  }

  /** Calls a function later, after all others of its time that came before. */
  inOrder(delayMs: number, run: () => void): Due {
    this.#count += 1;
    return this.#push(delayMs, this.#count, run);
  }

  /** Runs code of a process: later, if it is stopped; never, if it is dead. */
  as(life: Life, run: () => void): void {
    if (life.dead) return;
    const pausedMs = life.pausedUntil - this.time;
    if (pausedMs > 0) this.inOrder(pausedMs, () => this.as(life, run));
    else runAs(life, run);
  }

  #push(delayMs: number, order: number, run: () => void): Due {
    const due = { at: this.time + Math.max(0, delayMs), order, run, isOff: false };
    this.#queue.push(due);
    return due;
  }

  /** Carries out events until the condition holds, or until the virtual time. Returns whether the condition holds. */
  run(isOver: () => boolean, untilMs: number): Promise<boolean> {
    return new Promise<boolean>((resolve, reject) => {
      const turn = () => {
        try {
          const outcome = this.#turn(isOver, untilMs);
          if (outcome === undefined) real.setImmediate(turn);
          else resolve(outcome);
        } catch (error) {
          reject(error);
        }
      };
      real.setImmediate(turn);
    });
  }

  #turn(isOver: () => boolean, untilMs: number): boolean | undefined {
    for (let n = 0; n < eventsPerTurn; n += 1) {
      if (isOver()) return true;
      const due = this.#queue.pop();
      if (!due) return false;
      if (due.isOff) continue;
      if (due.at > untilMs) {
        this.#queue.push(due);
        return false;
      }
      this.time = Math.max(this.time, due.at);
      due.run();
      drain();
    }
    return undefined;
  }
}
