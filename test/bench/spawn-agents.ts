import { join } from 'node:path';
import { endProcess, spawnGuarded } from '@agentmesh/testing';

/** A started process of agents. */
export interface Spawned extends AsyncDisposable {
  pid: number;
}

/**
 * Starts a process of agents with its arguments, such as the addresses of servers, and waits until it serves.
 */
export async function spawnAgents(file: string, ...args: string[]): Promise<Spawned> {
  const child = spawnGuarded([process.execPath, join(import.meta.dirname, file), ...args], {
    cwd: import.meta.dirname,
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
  return { pid, [Symbol.asyncDispose]: () => endProcess(child, 'SIGKILL') };
}
