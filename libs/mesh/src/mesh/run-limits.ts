import type { RunEnd } from '@agentmesh/agent/internal';

/** The limits for the runs of one user, by app. */
export interface RunLimits {
  /** Returns the number of runs of one user of the app that may be at work. */
  running(app: string): number;
  /** Returns the number of runs of one user of the app that may wait. */
  waiting(app: string): number;
}

/** Half of the slots of one replica: a replica alone still serves others beside a user with a full share. */
const defaultRunning = 8;

/** A person never has as many waiting runs; at 10 kB for each run they take 10 MB of Redis. */
const defaultWaiting = 1_000;

type Numbers = ((app: string) => number | undefined) | undefined;

/** Makes limits from numbers by app; an app without a number has the default. */
export function runLimits(numbers: { running?: Numbers; waiting?: Numbers } = {}): RunLimits {
  return {
    running: (app) => numbers.running?.(app) ?? defaultRunning,
    waiting: (app) => numbers.waiting?.(app) ?? defaultWaiting,
  };
}

/** Returns the end of a run of a user who has too many waiting runs. */
export function tooManyWaiting(app: string, user: string, most: number) {
  return {
    status: 'failed',
    error: {
      code: 'resource_exhausted',
      message: `user ${user} has ${most} runs that wait in app ${app}; send more when some of them have ended (MESH_WAITING_RUNS_PER_USER)`,
    },
  } as const satisfies RunEnd;
}

/** Time for which a full share is remembered, in ms: about the time in which runs end. */
const rememberedMs = 1_000;

/** Number of users that are remembered at once. */
const mostRemembered = 1_000;

/**
 * The users whose share was full a moment ago. A hint: the store decides. It saves a replica the reads of a run
 * that can only wait, so that thousands of runs of one user are out of the way of the others soon.
 */
export class FullShares {
  readonly #until = new Map<string, number>();

  note(app: string, user: string): void {
    const name = JSON.stringify([app, user]);
    this.#until.delete(name);
    this.#until.set(name, performance.now() + rememberedMs);
    const [oldest] = this.#until.keys();
    if (this.#until.size > mostRemembered && oldest !== undefined) this.#until.delete(oldest);
  }

  forget(app: string, user: string): void {
    this.#until.delete(JSON.stringify([app, user]));
  }

  has(app: string, user: string): boolean {
    const name = JSON.stringify([app, user]);
    if ((this.#until.get(name) ?? 0) > performance.now()) return true;
    this.#until.delete(name);
    return false;
  }
}
