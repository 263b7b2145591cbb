import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { endProcess, hasEnded, spawnGuarded } from '@agentmesh/testing';

/** The longest time from the start of a process until it serves, in ms. */
const startMs = 30_000;
/** The longest wait for the last lines of a process that has ended, in ms. */
const lastLinesMs = 1_000;

export interface ServiceProcessOptions {
  name: string;
  /** The program that runs `main`; default this Node. */
  runtime?: string;
  /** The program of the service. */
  main: string;
  /** The arguments of the program; default none. */
  args?: readonly string[];
  /** The folder in which the program runs. */
  folder: string;
  env: NodeJS.ProcessEnv;
  onLine: (service: string, line: string) => void;
  /** Called when the process ends by itself. */
  onDeath: (service: string, pid: number, how: string) => void;
  /** Ends the start when it is aborted. */
  signal: AbortSignal;
}

/** One process of a service. */
export interface ServiceProcess extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** The address of the process's HTTP server, if there is one. */
  readonly address: string | undefined;
  /** Sends SIGTERM, after which the process ends its current work. Returns the exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
}

interface LogLine {
  level?: string;
  msg?: string;
  addresses?: { address: string; port: number }[];
  reason?: string;
}

/**
 * Starts the program of a service and waits until it serves.
 *
 * @throws Error with the last lines of the service when it does not start
 */
export async function startService({
  name,
  runtime = process.execPath,
  main,
  args = [],
  folder,
  env,
  onLine,
  onDeath,
  signal,
}: ServiceProcessOptions): Promise<ServiceProcess> {
  const child = spawnGuarded([runtime, main, ...args], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  let address: string | undefined;
  const started = Promise.withResolvers<void>();
  const onOutput = (line: string) => {
    onLine(name, line);
    lines.push(line);
    if (lines.length > 50) lines.shift();
    const { msg, addresses } = readLine(line);
    const [first] = addresses ?? [];
    if (first) address = `http://${first.address}:${first.port}`;
    if (msg === 'started') started.resolve();
  };
  for (const stream of [child.stdout, child.stderr]) if (stream) createInterface(stream).on('line', onOutput);
  const fail = () => started.reject(new Error(`${name} could not start: ${reasonIn(lines)}`));
  // Its last lines may come after its end. A process that it has left behind may hold the pipes open.
  child.once('exit', () => void setTimeout(fail, lastLinesMs).unref());
  child.once('close', fail);
  const onAbort = () =>
    started.reject(new Error(`${name} was not started: another service failed, or it was interrupted`));
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  const late = setTimeout(
    () => started.reject(new Error(`${name} did not serve within ${startMs} ms: ${reasonIn(lines)}`)),
    startMs,
  );
  try {
    await started.promise;
  } catch (error) {
    await endProcess(child, 'SIGKILL');
    throw error;
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', onAbort);
  }
  return processOf(name, child, address, onDeath);
}

function processOf(
  name: string,
  child: ChildProcess,
  address: string | undefined,
  onDeath: ServiceProcessOptions['onDeath'],
): ServiceProcess {
  const pid = child.pid ?? -1;
  let isStopped = false;
  child.once('exit', (code, by) => {
    if (!isStopped) onDeath(name, pid, by ?? `exit code ${code}`);
  });
  // Services have 25 s to end their current work.
  const stop = async () => {
    isStopped = true;
    await endProcess(child, 'SIGTERM', 30_000);
    return child.exitCode;
  };
  return {
    name,
    pid,
    address,
    stop,
    kill: () => {
      isStopped = true;
      return endProcess(child, 'SIGKILL');
    },
    async [Symbol.asyncDispose]() {
      if (!hasEnded(child)) await stop();
    },
  };
}

function readLine(line: string): LogLine {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}

/** Returns the reason that a service has logged; else the line of an uncaught error; else all its lines. */
export function reasonIn(lines: readonly string[]): string {
  const logged = lines.map(readLine).findLast(({ reason }) => reason !== undefined);
  const uncaught = lines.findLast((line) => /^\w*Error\b[^:]*: /.test(line));
  return logged?.reason ?? uncaught ?? `\n${lines.join('\n')}`;
}
