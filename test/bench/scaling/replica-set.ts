import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { spawnGuarded } from '@agentmesh/testing';

/** The begin or the end of a run, as a replica logs it. */
export interface RunLine {
  /** epoch ms */
  time: number;
  replica: string;
  invocationId: string;
  what: 'began' | 'ended';
  attempt: number;
  outcome: string;
}

/** Replicas of the slow agent, as processes. */
export interface ReplicaSet extends AsyncDisposable {
  /** The number of processes that are not told to stop. */
  readonly wanted: number;
  /** The number of processes that serve. */
  readonly serving: number;
  /** The number of processes that have stopped in order. */
  readonly stopped: number;
  /** The longest time from SIGTERM to the end of a process, in ms. */
  readonly longestStopMs: number;
  /** The exit codes and signals other than 0 of processes that served; before, SIGTERM just ends the process. */
  readonly failures: string[];
  readonly lines: RunLine[];
  /** Starts processes, or stops the youngest ones with SIGTERM; waits for neither. */
  scaleTo(count: number): void;
}

interface Replica {
  child: ChildProcess;
  isServing: boolean;
  ended: Promise<void>;
}

/** Returns an empty set. All its processes end with this process. */
export function createReplicaSet(env: Record<string, string>): ReplicaSet {
  const lines: RunLine[] = [];
  const failures: string[] = [];
  const stopping: Promise<void>[] = [];
  let replicas: Replica[] = [];
  let stopped = 0;
  let longestStopMs = 0;

  function begin(): Replica {
    const child = spawnGuarded([process.execPath, join(import.meta.dirname, 'slow-service.ts')], {
      env: { ...process.env, ...env, MESH_LOG_FORMAT: 'json', MESH_LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = Promise.withResolvers<void>();
    const replica: Replica = { child, isServing: false, ended: ended.promise };
    if (child.stdout)
      createInterface({ input: child.stdout }).on('line', (line) => {
        const { msg } = readLine(line, lines);
        if (msg === 'started') replica.isServing = true;
      });
    child.once('exit', (code, signal) => {
      if (code !== 0 && replica.isServing) failures.push(String(code ?? signal));
      replica.isServing = false;
      ended.resolve();
    });
    return replica;
  }

  async function end({ child, ended }: Replica): Promise<void> {
    const toldAt = performance.now();
    child.kill('SIGTERM');
    await ended;
    stopped += 1;
    longestStopMs = Math.max(longestStopMs, performance.now() - toldAt);
  }

  const scaleTo = (count: number) => {
    while (replicas.length < count) replicas.push(begin());
    const surplus = replicas.slice(count);
    replicas = replicas.slice(0, count);
    for (const replica of surplus) stopping.push(end(replica));
  };

  return {
    get wanted() {
      return replicas.length;
    },
    get serving() {
      return replicas.filter(({ isServing }) => isServing).length;
    },
    get stopped() {
      return stopped;
    },
    get longestStopMs() {
      return longestStopMs;
    },
    failures,
    lines,
    scaleTo,
    async [Symbol.asyncDispose]() {
      scaleTo(0);
      await Promise.all(stopping);
    },
  };
}

function readLine(text: string, lines: RunLine[]): { msg: string } {
  const line = JSON.parse(text);
  const { msg, invocationId, attempt, outcome = '', replica } = line;
  if (msg === 'run began' || msg === 'run ended')
    lines.push({
      ...{ replica, invocationId, attempt, outcome },
      what: msg === 'run began' ? 'began' : 'ended',
      time: typeof line.time === 'number' ? line.time : Date.parse(line.time),
    });
  return { msg };
}
