import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Server } from './server.ts';

/** The place of a server: always the same folder, and from the second start on the same port. */
export interface ServerPlace {
  dataDir: string;
  port?: number;
}

/** A server that can be killed and started again with its data. */
export interface RestartableServer extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The process id of the running server. */
  readonly pid: number;
  /** The number of kills. */
  readonly kills: number;
  /** Kills the server (SIGKILL). Does nothing when it is down. */
  kill(): Promise<void>;
  /** Stops the server (SIGTERM), as an operator does. Does nothing when it is down. */
  stop(): Promise<void>;
  /** Starts the server again on its port and folder. Does nothing when it is up. */
  start(): Promise<void>;
}

/**
 * Starts a server in a temporary folder, which stays until the result is disposed.
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
    async stop() {
      if (!up) return;
      up = false;
      await server.stop();
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
