import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type BinaryName, findBinary } from '../processes/find-binary.ts';

let answered: Promise<boolean> | undefined;

/** Whether a Docker engine answers here; asked once per process, and at once false without a socket. */
function dockerAnswers(): Promise<boolean> {
  answered ??= ping();
  return answered;
}

/**
 * Starts a server in a container or locally: as `MESH_TEST_SERVERS` says, else in a container where a Docker engine
 * answers. An engine that answers and cannot start the image (no registry in reach) gives way to a local program, if there is one.
 */
export async function chooseServers<T>(
  binary: BinaryName,
  inDocker: () => Promise<T>,
  local: () => Promise<T>,
): Promise<T> {
  const forced = process.env.MESH_TEST_SERVERS;
  if (forced && forced !== 'docker' && forced !== 'local') {
    throw new Error(`MESH_TEST_SERVERS=${forced}: use docker or local`);
  }
  if (forced === 'docker') return inDocker();
  if (forced === 'local' || !(await dockerAnswers())) return local();
  try {
    return await inDocker();
  } catch (error) {
    if (findBinary(binary) === undefined) throw error;
    // Not asked again in this process: looking for an image that cannot be had takes seconds.
    answered = Promise.resolve(false);
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
  const named = process.env.DOCKER_HOST;
  if (named?.startsWith('tcp://')) {
    const { hostname, port } = new URL(named);
    return { host: hostname, port: port || '2375' };
  }
  const sockets = named?.startsWith('unix://')
    ? [named.slice('unix://'.length)]
    : ['/var/run/docker.sock', join(homedir(), '.docker/run/docker.sock')];
  const socketPath = sockets.find((path) => existsSync(path));
  return socketPath === undefined ? undefined : { socketPath };
}
