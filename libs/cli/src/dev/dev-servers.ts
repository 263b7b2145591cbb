import { randomBytes } from 'node:crypto';
import { natsVersion } from '@agentmesh/bus';
import { provisionUser, type ServiceManifest } from '@agentmesh/mesh';
import { AsyncDisposableStack } from '@agentmesh/protocol';
import { binaryProblem } from '@agentmesh/testing';
import { dockerAnswers, hasContainers } from '@agentmesh/testing/servers';
import type { MeshVariables } from '../context/context-file.ts';
import { describeNats } from '../local/describe-nats.ts';
import { readPlace, writePlace } from '../local/kept-place.ts';
import { openMeshAccounts } from '../local/mesh-accounts.ts';
import { type OwnServer, startOwnNats, startOwnRedis, type Watch } from '../local/own-servers.ts';

/** The ways to run the servers of a dev loop. `none`: all services in one process, without servers. */
export type ServerChoice = 'local' | 'docker' | 'none';

export const serverChoices = ['auto', 'local', 'docker', 'none'] as const;

/** Chooses the servers: programs of this machine, else Docker, else none. Says why it is not the first. */
export async function chooseServers(wish: string): Promise<{ choice: ServerChoice; notice?: string }> {
  if (wish === 'local' || wish === 'docker' || wish === 'none') return { choice: wish };
  const problems = (['nats-server', 'redis-server'] as const).flatMap((name) => binaryProblem(name) ?? []);
  if (problems.length === 0) return { choice: 'local' };
  const words = problems.join(', ');
  const isDocker = await dockerAnswers();
  if (isDocker && (await hasContainers()))
    return { choice: 'docker', notice: `${words}: the servers run in Docker` };
  return {
    choice: 'none',
    notice: `${words}, and ${isDocker ? 'the package testcontainers is not installed, which starts them in Docker' : 'no Docker answers'}: all services run in ONE process, on a bus and stores in memory. What they keep ends with the process`,
  };
}

/** The servers of a dev loop, with the variables by which every service reaches them. */
export interface DevServers extends AsyncDisposable {
  variables: MeshVariables;
  /** The folder of the keys, with which services join. */
  keys: string;
  /** The credentials of NATS that all services share. */
  credsFile: string;
  /** Makes these the services of the project, beside those that joined. Returns those that joined. */
  setServices(services: readonly ServiceManifest[]): Promise<ServiceManifest[]>;
}

/** The name under which the password of Redis is kept. */
const user = 'dev';

/**
 * Starts NATS with JetStream and Redis, with their data in a folder. All services share one login: a
 * definition may change with each save, and its rights with it. Services that join have logins of their own.
 */
export async function startDevServers(
  dataDir: string,
  runs: 'local' | 'docker',
  watch: Watch,
): Promise<DevServers> {
  await using owners = new AsyncDisposableStack();
  const servers: OwnServer[] = [];
  // The servers do not need each other, so both are stopped at the same time.
  owners.defer(async () => {
    await Promise.allSettled(servers.map((server) => server[Symbol.asyncDispose]()));
  });
  const place = await readPlace(dataDir);
  place.passwords[user] ??= randomBytes(16).toString('hex');
  const password = place.passwords[user];
  const { natsPort, redisPort } = place;
  const accounts = await openMeshAccounts({ dataDir, runs, isShared: true });
  const { configuration, keys } = accounts;
  let services: readonly ServiceManifest[] = [];
  const nats = await startOwnNats(
    { runs, configuration, dataDir: `${dataDir}/nats`, ...(natsPort !== undefined && { port: natsPort }) },
    watch,
  );
  servers.push(nats);
  const redis = await startOwnRedis(
    {
      ...{ runs, password, appendOnly: true, dataDir: `${dataDir}/redis` },
      users: () => accounts.redisUsers(services),
      ...(redisPort !== undefined && { port: redisPort }),
    },
    watch,
  );
  servers.push(redis);
  await writePlace(dataDir, { ...place, natsPort: nats.port, redisPort: redis.port });
  await accounts.setServices(nats.url, [], { all: true });
  await accounts.writeRedisUrl(redis.url);
  const credsFile = accounts.creds(provisionUser);
  watch.say(describeNats(await natsVersion({ url: nats.url, credsFile })));
  const started = owners.move();
  return {
    variables: { NATS_URL: nats.url, MESH_NATS_CREDS: credsFile, REDIS_URL: redis.url },
    ...{ keys, credsFile },
    async setServices(manifests) {
      services = manifests;
      await accounts.setServices(nats.url, manifests);
      return await accounts.joined();
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
