import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type BinaryName, findBinary } from '../processes/find-binary.ts';
import type { ServerRuns } from './server.ts';

let answer: Promise<boolean> | undefined;

/**
 * Tells whether a Docker engine answers. Asks once per process; without a socket the answer is false at once.
 */
export function dockerAnswers(): Promise<boolean> {
  answer ??= ping();
  return answer;
}

/** Tells whether the package that starts containers is installed: it is an optional peer. */
export async function hasContainers(): Promise<boolean> {
  try {
    await import('testcontainers');
    return true;
  } catch {
    return false;
  }
}

/**
 * Starts a server in a container or locally. `runs`, else `MESH_TEST_SERVERS`, decides; without them, a Docker engine that
 * answers is used. When that engine cannot start the image (no registry in reach), a local program is used if
 * there is one.
 */
export async function chooseServers<T>(
  binary: BinaryName,
  inDocker: () => Promise<T>,
  local: () => Promise<T>,
  runs?: ServerRuns,
): Promise<T> {
  const forced = runs ?? process.env.MESH_TEST_SERVERS;
  if (forced && forced !== 'docker' && forced !== 'local') {
    throw new Error(`MESH_TEST_SERVERS=${forced}: use docker or local`);
  }
  if (forced === 'docker') return inDocker();
  if (forced === 'local' || !(await dockerAnswers())) return local();
  try {
    return await inDocker();
  } catch (error) {
    if (findBinary(binary) === undefined) throw error;
    // This process does not try Docker again: the search for a missing image takes seconds.
    answer = Promise.resolve(false);
    const why = error instanceof Error ? error.message : String(error);
    process.emitWarning(`no ${binary} from Docker, the local one is used: ${why}`);
    return local();
  }
}

function ping(): Promise<boolean> {
  const target = engine();
  if (target === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const call = request({ ...target, path: '/_ping', timeout: 1_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    call.once('timeout', () => call.destroy());
    call.once('error', () => resolve(false));
    call.once('close', () => resolve(false));
    call.end();
  });
}

function engine(): { socketPath: string } | { host: string; port: string } | undefined {
  const dockerHost = process.env.DOCKER_HOST;
  if (dockerHost?.startsWith('tcp://')) {
    const { hostname, port } = new URL(dockerHost);
    return { host: hostname, port: port || '2375' };
  }
  const sockets = dockerHost?.startsWith('unix://')
    ? [dockerHost.slice('unix://'.length)]
    : ['/var/run/docker.sock', join(homedir(), '.docker/run/docker.sock')];
  const socketPath = sockets.find((path) => existsSync(path));
  return socketPath === undefined ? undefined : { socketPath };
}
