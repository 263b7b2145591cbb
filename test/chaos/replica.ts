import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { endProcess, hasEnded, type KillPoint, pauseProcess, spawnGuarded } from '@agentmesh/testing';
import { type Life, now } from './check/history.ts';
import { beginSpan } from './field/lives.ts';

export interface ReplicaOptions {
  /** The name of the place: `front_agent/1`. */
  name: string;
  /** Returns the command of the next start, for a process with the given name. */
  command: (life: string) => { args: string[]; cwd: string; env?: NodeJS.ProcessEnv };
  /** Tells whether a line of the output says that the process serves. */
  isReady: (line: string) => boolean;
  /** The record to which the lives of this place are added; default none. */
  lives?: Life[];
  /** Called for errors and warnings in the output. */
  onLine?: (name: string, line: string) => void;
}

/** A place for one process. When the process dies, another one takes its place. */
export interface Replica extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** The name of the current process. */
  readonly life: string;
  /** The names of all processes that died in this place. */
  readonly dead: string[];
  /** Resolves when the current process serves. */
  ready(): Promise<void>;
  /** The record of the current process. */
  readonly record: Life;
  /** Kills the current process (SIGKILL). */
  kill(): Promise<void>;
  /** Asks the current process to end (SIGTERM). Kills it when it has not ended after `patienceMs`. */
  stop(patienceMs: number): Promise<void>;
  /** Stops the current process (SIGSTOP). Returns a function that continues it (SIGCONT). */
  pause(): () => void;
  /** Makes the process die at the point, after it has passed it `passes` times. */
  arm(point: KillPoint, passes?: number): void;
  /** Does the same as `arm`, and kills the process after `patienceMs` if it has not reached the point. */
  killAt(point: KillPoint, passes: number, patienceMs: number): Promise<void>;
}

/** Starts a process and keeps the place filled. */
export function startReplica(options: ReplicaOptions): Replica {
  const { name } = options;
  const dead: string[] = [];
  let closed = false;
  let lives = 0;
  let current = start();

  function start() {
    lives += 1;
    const life = `${name}#${lives}`;
    const record: Life = { replica: name, life, startedAt: now(), pauses: [], cutOffs: [], unaware: [] };
    options.lives?.push(record);
    const { args, cwd, env } = options.command(life);
    const child = spawnGuarded([process.execPath, ...args], {
      cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(env && { env }),
    });
    const ready = Promise.withResolvers<void>();
    // The promise may be rejected while nobody waits for it.
    ready.promise.catch(() => {});
    child.stdin?.on('error', () => {});
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue;
      createInterface(stream).on('line', (line) => {
        if (options.isReady(line)) ready.resolve();
        options.onLine?.(life, line);
      });
    }
    child.once('exit', () => {
      ready.reject(new Error(`${life} ended before it served`));
      dead.push(life);
      record.diedAt = now();
      if (!closed) current = start();
    });
    return { child, life, record, ready: ready.promise };
  }

  const arm = (point: KillPoint, passes = 0) => void current.child.stdin?.write(`arm ${point} ${passes}\n`);

  return {
    name,
    dead,
    get pid() {
      return current.child.pid ?? -1;
    },
    get life() {
      return current.life;
    },
    async ready() {
      for (;;) {
        const { ready, life } = current;
        try {
          return await ready;
        } catch (error) {
          if (closed || life === current.life) throw error;
        }
      }
    },
    get record() {
      return current.record;
    },
    kill: () => endProcess(current.child, 'SIGKILL'),
    stop: (patienceMs) => endProcess(current.child, 'SIGTERM', patienceMs),
    pause() {
      const { child, record } = current;
      if (child.pid === undefined || hasEnded(child)) return () => {};
      const paused = pauseProcess(child.pid);
      const end = beginSpan(record.pauses);
      return () => {
        paused.resume();
        end();
      };
    },
    arm,
    async killAt(point, passes, patienceMs) {
      const { child } = current;
      arm(point, passes);
      await endedWithin(child, patienceMs);
      await endProcess(child, 'SIGKILL');
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      await endProcess(current.child, 'SIGKILL');
    },
  };
}

function endedWithin(child: ChildProcess, ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (hasEnded(child)) {
      resolve();
      return;
    }
    const timer = setTimeout(resolve, ms);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
