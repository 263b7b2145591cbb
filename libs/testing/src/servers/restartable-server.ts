import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Server } from './server.ts';

/** Where a server is started: always the same folder, and from the second start on the same port. */
export interface ServerPlace {
  dataDir: string;
  port?: number;
}

/** A server that can die and come back with its disk. */
export interface RestartableServer extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Process id of the server as it runs now. */
  readonly pid: number;
  /** How often it was killed. */
  readonly kills: number;
  /** SIGKILL; nobody answers until `start`. No-op when it is down. */
  kill(): Promise<void>;
  /** Starts it again on its port and folder. No-op when it is up. */
  start(): Promise<void>;
}

/**
 * Starts a server in a temporary folder that outlives it, and goes with the result.
 *
 * @param launch for example `(place) => startRedis({ ...place, appendOnly: true })`
 */
export async function startRestartable(
  launch: (place: ServerPlace) => Promise<Server>,
): Promise<RestartableServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'agentmesh-restartable-'));
  const remove = () => rmSync(dataDir, { recursive: true, force: true });
  let server: Server;
  try {
    server = await launch({ dataDir });
  } catch (error) {
    remove();
    throw error;
  }
  const { url, host, port } = server;
  let up = true;
  let kills = 0;
  return {
    url,
    host,
    port,
    get pid() {
      return server.pid;
    },
    get kills() {
      return kills;
    },
    async kill() {
      if (!up) return;
      up = false;
      kills += 1;
      await server.kill();
    },
    async start() {
      if (up) return;
      server = await launch({ dataDir, port });
      up = true;
    },
    async [Symbol.asyncDispose]() {
      if (up) await server.stop();
      up = false;
      remove();
    },
  };
}
