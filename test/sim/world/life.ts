import { AsyncLocalStorage } from 'node:async_hooks';

/** One life of a simulated process. Whatever its code starts belongs to it, and ends with it. */
export interface Life {
  /** The place: `front_agent/1`. */
  readonly place: string;
  /** The name in the history: `front_agent/1#2`. */
  readonly name: string;
  dead: boolean;
  /** The virtual time until which it is stopped (SIGSTOP): no timer fires, and nothing is read from a socket. */
  pausedUntil: number;
  /** The number of its operations so far. */
  ops: number;
}

export function newLife(place: string, number: number): Life {
  return { place, name: `${place}#${number}`, dead: false, pausedUntil: 0, ops: 0 };
}

/** The error for code of a dead process that cannot be left waiting. */
class Dead extends Error {}
/** One for all: nobody reads its stack, and making stacks takes time. */
export const dead = new Dead('the process is dead');

const owner = new AsyncLocalStorage<Life | undefined>();

/** Returns the life whose code runs now. */
export const lifeNow = (): Life | undefined => owner.getStore();

/** Runs code as code of a process, or of none: a server, a client. */
export const runAs = <T>(life: Life | undefined, run: () => T): T => owner.run(life, run);

/** The answer that never comes. */
export const never = <T>(): Promise<T> => new Promise<T>(() => {});
