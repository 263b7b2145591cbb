import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { endProcess, hasEnded, spawnGuarded } from '@agentmesh/testing';

const root = new URL('../../', import.meta.url).pathname;
/** Longest time from the start of a process until it serves, in ms. */
const startMs = 30_000;

export interface ServiceProcessOptions {
  name: string;
  /** Folder of its package, from the root of the repository. */
  folder: string;
  env: Record<string, string>;
  onLine: (service: string, line: string) => void;
}

/** One process of a service. */
export interface ServiceProcess extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** Where it listens for HTTP, if it does. */
  readonly address: string | undefined;
  /** SIGTERM: it ends what it has in hand. Gives the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

interface LogLine {
  level?: string;
  msg?: string;
  addresses?: { address: string; port: number }[];
  reason?: string;
}

/** Starts a service's `main.ts` and waits until it serves. @throws Error with its last lines when it does not */
export async function startService({
  name,
  folder,
  env,
  onLine,
}: ServiceProcessOptions): Promise<ServiceProcess> {
  const child = spawnGuarded([process.execPath, 'src/main.ts'], {
    cwd: `${root}${folder}`,
    env: { ...inherited(), ...env },
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
  child.once('exit', () => started.reject(new Error(`${name} ended before it served:\n${lines.join('\n')}`)));
  const late = setTimeout(
    () => started.reject(new Error(`${name} did not serve within ${startMs} ms:\n${lines.join('\n')}`)),
    startMs,
  );
  try {
    await started.promise;
  } catch (error) {
    await endProcess(child, 'SIGKILL');
    throw error;
  } finally {
    clearTimeout(late);
  }
  return processOf(name, child, address);
}

function processOf(name: string, child: ChildProcess, address: string | undefined): ServiceProcess {
  // Services have 25 s to end what they have in hand.
  const stop = async () => {
    await endProcess(child, 'SIGTERM', 30_000);
    return child.exitCode;
  };
  return {
    name,
    pid: child.pid ?? -1,
    address,
    stop,
    kill: () => endProcess(child, 'SIGKILL'),
    async [Symbol.asyncDispose]() {
      if (!hasEnded(child)) await stop();
    },
  };
}

/** Our own environment without the variables of services: each is told what it needs. */
function inherited(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('MESH_') && name !== 'NATS_URL' && name !== 'REDIS_URL',
  );
  return Object.fromEntries(entries);
}

function readLine(line: string): LogLine {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}
