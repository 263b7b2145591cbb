import type { ChildProcess } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../processes/free-port.ts';
import { endProcess, hasEnded, spawnGuarded } from '../processes/guarded-spawn.ts';
import { until } from '../processes/wait.ts';
import type { Server } from './server.ts';

export interface LocalServerOptions {
  name: string;
  scheme: string;
  /** The user and password in the form of a url, with the `@`; default none. */
  login?: string | undefined;
  binary: string;
  dataDir: string | undefined;
  port: number | undefined;
  /** Returns the program's arguments for the chosen port. May write a configuration file into the folder. */
  args(place: { port: number; dataDir: string }): string[];
  /** Variables that the program has besides those of this process. */
  env?: Record<string, string>;
  /** Called when the server ends without a call of `stop` or `kill`. */
  onEnd?: ((how: string) => void) | undefined;
  /** Tells whether this server answers, and not another server on the same port. */
  ready(place: { port: number; log: string }): Promise<boolean>;
}

const host = '127.0.0.1';
/** The longest time of a start, in ms: a loaded machine takes long, and a program that fails ends by itself. */
const startMs = 120_000;
const portTaken = /address already in use/i;

/** Runs a server's program on a loopback port until `stop`, `kill` or the end of this process. */
export async function startLocalServer(options: LocalServerOptions): Promise<Server> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), `agentmesh-${options.name}-`));
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  // Nobody else may read the server's data.
  chmodSync(dataDir, 0o700);
  try {
    for (let attempt = 1; ; attempt += 1) {
      const port = options.port ?? (await freePort());
      const outcome = await launch(options, dataDir, port);
      if ('child' in outcome) return serverOf(options, dataDir, port, outcome.child);
      const raceLost = portTaken.test(outcome.log) && options.port === undefined;
      if (!raceLost || attempt === 10) {
        throw new Error(`${options.name} did not start on port ${port}: ${outcome.log.trim().slice(-2_000)}`);
      }
    }
  } catch (error) {
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    throw error;
  }
}

async function launch(
  options: LocalServerOptions,
  dataDir: string,
  port: number,
): Promise<{ child: ChildProcess } | { log: string }> {
  const logFile = join(dataDir, `${options.name}.log`);
  const args = [options.binary, ...options.args({ port, dataDir })];
  const child = spawnLogged(args, {
    logFile,
    env: options.env,
    trash: options.dataDir === undefined ? dataDir : undefined,
  });
  const log = () => readFileSync(logFile, 'utf8');
  let failure: string | undefined;
  child.once('error', (error) => {
    failure = error.message;
  });
  try {
    await until(() => failure !== undefined || hasEnded(child) || options.ready({ port, log: log() }), {
      what: `${options.name} to answer on port ${port}`,
      timeoutMs: startMs,
    });
  } catch (error) {
    await endProcess(child, 'SIGKILL');
    return { log: `${error instanceof Error ? error.message : error}\n${log()}` };
  }
  return failure !== undefined || hasEnded(child) ? { log: failure ?? log() } : { child };
}

function spawnLogged(
  command: string[],
  {
    logFile,
    env,
    trash,
  }: { logFile: string; env: Record<string, string> | undefined; trash: string | undefined },
): ChildProcess {
  const log = openSync(logFile, 'w', 0o600);
  const child = spawnGuarded(command, {
    stdio: ['ignore', log, log],
    isPrivate: true,
    ...(env && { env: { ...process.env, ...env } }),
    ...(trash !== undefined && { trash }),
  });
  closeSync(log);
  child.unref();
  return child;
}

function serverOf(options: LocalServerOptions, dataDir: string, port: number, child: ChildProcess): Server {
  let isStopped = false;
  child.once('exit', (code, by) => {
    if (!isStopped) options.onEnd?.(by ?? `exit code ${code}`);
  });
  const stop = async () => {
    isStopped = true;
    await endProcess(child, 'SIGTERM');
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  return {
    url: `${options.scheme}://${options.login ?? ''}${host}:${port}`,
    host,
    port,
    pid: child.pid ?? -1,
    dataDir,
    stop,
    kill: () => {
      isStopped = true;
      return endProcess(child, 'SIGKILL');
    },
    [Symbol.asyncDispose]: stop,
  };
}
