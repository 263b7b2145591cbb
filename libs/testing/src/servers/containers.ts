import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
// This file is imported only when it is needed: it loads a Docker client, which takes half a second.
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from 'testcontainers';
import { freePort } from '../processes/free-port.ts';
import type { NatsOptions, RedisOptions, Server } from './server.ts';
import {
  loginOf,
  natsConfiguration,
  natsEnvironment,
  passwordFile,
  redisArguments,
  writePrivate,
} from './server-settings.ts';

interface ContainerOptions {
  scheme: string;
  /** The user and password in the form of a url; default none. */
  login?: string;
  image: string;
  program: string;
  args: string[];
  env?: Record<string, string>;
  /** The port within the container. */
  inside: number;
  port: number | undefined;
  ready: RegExp;
}

const dataInside = '/data';
const portTaken = /already allocated|already in use/i;

/** Starts a NATS server in a container; `MESH_NATS_IMAGE` names another image. */
export async function startNatsContainer(options: NatsOptions): Promise<Server> {
  const inside = 4222;
  return startContainer(options.dataDir, (dataDir) => {
    const listen = `listen: "0.0.0.0:${inside}"\n`;
    const configuration = natsConfiguration(`${dataInside}/jetstream`, options);
    writePrivate(join(dataDir, 'nats-server.conf'), listen + configuration);
    return {
      scheme: 'nats',
      image: process.env.MESH_NATS_IMAGE || 'nats:2.12-alpine',
      program: 'nats-server',
      args: ['-c', `${dataInside}/nats-server.conf`],
      env: natsEnvironment(),
      inside,
      port: options.port,
      ready: /Server is ready/,
    };
  });
}

/** Starts a Redis server in a container; `MESH_REDIS_IMAGE` names another image. */
export async function startRedisContainer(options: RedisOptions): Promise<Server> {
  const inside = 6379;
  return startContainer(options.dataDir, (dataDir) => ({
    scheme: 'redis',
    login: loginOf(options),
    image: process.env.MESH_REDIS_IMAGE || 'redis:7.4-alpine',
    program: 'redis-server',
    args: [
      ...passwordFile(dataDir, dataInside, options),
      ...['--port', String(inside), '--protected-mode', 'no', ...redisArguments(dataInside, options)],
    ],
    inside,
    port: options.port,
    ready: /Ready to accept connections/,
  }));
}

async function startContainer(
  givenDir: string | undefined,
  describe: (dataDir: string) => ContainerOptions,
): Promise<Server> {
  const dataDir =
    givenDir === undefined ? mkdtempSync(join(tmpdir(), 'agentmesh-container-')) : resolve(givenDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const clean = () => {
    if (givenDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    const options = describe(dataDir);
    for (let attempt = 1; ; attempt += 1) {
      const port = options.port ?? (await freePort());
      try {
        const container = await containerOf(options, { port, dataDir }).start();
        return await serverOf(container, options, { dataDir, clean });
      } catch (error) {
        const raceLost = options.port === undefined && portTaken.test(String(error));
        if (!raceLost || attempt === 10) throw error;
      }
    }
  } catch (error) {
    clean();
    throw error;
  }
}

function containerOf(
  { image, program, args, env = {}, inside, ready }: ContainerOptions,
  { port, dataDir }: { port: number; dataDir: string },
): GenericContainer {
  const { uid, gid } = userInfo();
  const container = new GenericContainer(image)
    .withEntrypoint([program])
    .withCommand(args)
    .withEnvironment(env)
    .withExposedPorts({ container: inside, host: port })
    .withBindMounts([{ source: dataDir, target: dataInside }])
    .withWaitStrategy(Wait.forLogMessage(ready))
    .withStartupTimeout(60_000);
  // The container runs as our user, so that we can remove its data. Windows has no such ids.
  return uid >= 0 ? container.withUser(`${uid}:${gid}`) : container;
}

async function serverOf(
  container: StartedTestContainer,
  { scheme, inside, login = '' }: ContainerOptions,
  { dataDir, clean }: { dataDir: string; clean(): void },
): Promise<Server> {
  const docker = (await getContainerRuntimeClient()).container;
  const engine = docker.getById(container.getId());
  const { State } = await engine.inspect();
  const hostName = container.getHost();
  const host = hostName === 'localhost' ? '127.0.0.1' : hostName;
  const port = container.getMappedPort(inside);
  let removed: Promise<unknown> | undefined;
  const remove = async (signal: 'SIGTERM' | 'SIGKILL') => {
    // `stop` alone would send SIGTERM first.
    if (signal === 'SIGKILL') await engine.kill({ signal });
    await container.stop({ timeout: 5_000, remove: true, removeVolumes: true });
  };
  const stop = async () => {
    removed ??= remove('SIGTERM');
    await removed;
    clean();
  };
  const kill = async () => {
    removed ??= remove('SIGKILL');
    await removed;
  };
  return {
    url: `${scheme}://${login}${host}:${port}`,
    host,
    port,
    pid: State.Pid,
    dataDir,
    stop,
    kill,
    [Symbol.asyncDispose]: stop,
  };
}
