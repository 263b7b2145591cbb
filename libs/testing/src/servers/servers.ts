import { randomUUID } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { requireBinary } from '../processes/find-binary.ts';
import { chooseServers } from './docker-engine.ts';
import { startLocalServer } from './local-server.ts';

/** A server that was started for us and ends with this process. */
export interface Server extends AsyncDisposable {
  /** What a client connects to: `nats://127.0.0.1:14222`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The server's own process id, to send it signals. */
  readonly pid: number;
  readonly dataDir: string;
  /** Ends it and removes its data, unless `dataDir` was given. */
  stop(): Promise<void>;
  /** SIGKILL; the data stays, for a start with the same `dataDir` and `port`. */
  kill(): Promise<void>;
}

export interface NatsOptions {
  /** More text of nats-server.conf: accounts, users, permissions, limits. */
  configuration?: string;
  /** Its name, by which its peers in a cluster know it again; default one of its own at each start. */
  name?: string;
  /** JetStream's folder; default a temporary one. */
  dataDir?: string;
  /** Default a free one. */
  port?: number;
  /** Default true. */
  jetstream?: boolean;
  /** Called when the local program ends without having been told to. */
  onEnd?: ((how: string) => void) | undefined;
}

export interface RedisOptions {
  dataDir?: string;
  /** Default a free one. */
  port?: number;
  /** Keep the data over a kill; default false. */
  appendOnly?: boolean;
  /** Of the default user; the url has it too. Letters and digits. */
  password?: string;
  /** Called when the local program ends without having been told to. */
  onEnd?: ((how: string) => void) | undefined;
  /** More arguments of redis-server: `['--maxmemory', '2mb']`. */
  extraArgs?: string[];
}

/**
 * Starts a NATS server with JetStream on a loopback port: in a container where a Docker engine answers, else the local
 * `nats-server`; `MESH_TEST_SERVERS=docker|local` decides otherwise.
 *
 * @throws Error that says what to install, or holds the server's own complaint
 */
export async function startNats(options: NatsOptions = {}): Promise<Server> {
  return chooseServers(
    'nats-server',
    async () => (await import('./containers.ts')).startNatsContainer(options),
    () => startLocalNats(options),
  );
}

/** As {@link startNats}, for a Redis server without snapshots. */
export async function startRedis(options: RedisOptions = {}): Promise<Server> {
  return chooseServers(
    'redis-server',
    async () => (await import('./containers.ts')).startRedisContainer(options),
    () => startLocalRedis(options),
  );
}

/** As {@link startNats}, always by the local program. */
export async function startLocalNats({
  configuration,
  dataDir,
  port,
  jetstream = true,
  onEnd,
  // It proves that the server which answers is ours, and not one that was faster on that port.
  name = `test-${randomUUID()}`,
}: NatsOptions): Promise<Server> {
  return startLocalServer({
    name: 'nats-server',
    scheme: 'nats',
    onEnd,
    binary: requireBinary('nats-server'),
    dataDir,
    port,
    args: (place) => {
      const file = join(place.dataDir, 'nats-server.conf');
      const listen = `server_name: "${name}"\nlisten: "127.0.0.1:${place.port}"\n`;
      writePrivate(
        file,
        listen + natsConfiguration(join(place.dataDir, 'jetstream'), { configuration, jetstream }),
      );
      return ['-c', file];
    },
    ready: async ({ port: at }) => {
      const info = await ask(at, '');
      return info.includes(name) && (!jetstream || /"jetstream":\s*true/.test(info));
    },
  });
}

/** As {@link startRedis}, always by the local program. */
export async function startLocalRedis(options: RedisOptions): Promise<Server> {
  return startLocalServer({
    name: 'redis-server',
    scheme: 'redis',
    login: loginOf(options),
    onEnd: options.onEnd,
    binary: requireBinary('redis-server'),
    dataDir: options.dataDir,
    port: options.port,
    args: (place) => [
      ...passwordFile(place.dataDir, place.dataDir, options),
      '--port',
      String(place.port),
      '--bind',
      '127.0.0.1',
      ...redisArguments(place.dataDir, options),
    ],
    ready: async ({ port, log }) =>
      log.includes('Ready to accept connections') && /^(\+PONG|-NOAUTH)/.test(await ask(port, 'PING\r\n')),
  });
}

/** The part of nats-server.conf that a local server and one in a container share. */
export function natsConfiguration(
  storeDir: string,
  { configuration, jetstream = true }: NatsOptions,
): string {
  const store = jetstream ? `jetstream { store_dir: ${JSON.stringify(storeDir)} }\n` : '';
  return `${store}${configuration ?? ''}\n`;
}

/**
 * The argument that names a file with the password, which it writes: what stands in the arguments of a process everybody may read.
 *
 * @param seenAs the folder as the server sees it
 */
export function passwordFile(folder: string, seenAs: string, { password }: RedisOptions): string[] {
  if (password === undefined) return [];
  writePrivate(join(folder, 'redis.conf'), `requirepass "${password}"\n`);
  return [join(seenAs, 'redis.conf')];
}

export function loginOf({ password }: RedisOptions): string {
  return password === undefined ? '' : `:${password}@`;
}

/** Writes a file that its owner alone reads. */
export function writePrivate(file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o600 });
  // One that was there keeps its mode.
  chmodSync(file, 0o600);
}

/** The arguments that a local server and one in a container share. */
export function redisArguments(dir: string, { appendOnly = false, extraArgs = [] }: RedisOptions): string[] {
  return ['--dir', dir, '--save', '', '--appendonly', appendOnly ? 'yes' : 'no', ...extraArgs];
}

/** Sends a line and returns the first piece of the answer; '' when nothing answers. */
export function ask(port: number, line: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const finish = (answer: string) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => finish(''));
    socket.once('error', () => finish(''));
    socket.once('data', (data) => finish(data.toString()));
    if (line) socket.write(line);
  });
}
