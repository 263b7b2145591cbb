import { dirname, resolve } from 'node:path';
import { endProcess, spawnGuarded } from '@agentmesh/testing';
import { isProfiled } from './profiles.ts';

/** A started process of agents. */
export interface Spawned extends AsyncDisposable {
  pid: number;
}

/**
 * Starts a process of agents with its arguments, such as the addresses of servers, and waits until it serves.
 */
export async function spawnAgents(file: string, ...args: string[]): Promise<Spawned> {
  return await spawnProgram(resolve(import.meta.dirname, file), args);
}

/** Starts a process with variables of its own, and waits until it says that it has started. */
export async function spawnProgram(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Spawned> {
  const child = spawnGuarded([process.execPath, file, ...args], {
    cwd: dirname(file),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const started = Promise.withResolvers<void>();
  child.stdout?.on('data', (data: Buffer) => {
    if (data.toString().includes('"started"')) started.resolve();
  });
  child.once('exit', (code) => started.reject(new Error(`the agents ended with ${code}`)));
  await started.promise;
  const { pid } = child;
  if (pid === undefined) throw new Error('the agents did not start as a process of this machine');
  return {
    pid,
    // A process that is profiled writes its profile when it ends by itself.
    [Symbol.asyncDispose]: () =>
      isProfiled() ? endProcess(child, 'SIGTERM', 60_000) : endProcess(child, 'SIGKILL'),
  };
}
