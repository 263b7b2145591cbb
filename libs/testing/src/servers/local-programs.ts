import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { join } from 'node:path';
import { requireBinary } from '../processes/find-binary.ts';
import { startLocalServer } from './local-server.ts';
import type { NatsOptions, RedisOptions, Server } from './server.ts';
import {
  loginOf,
  natsConfiguration,
  natsEnvironment,
  passwordFile,
  redisArguments,
  writePrivate,
} from './server-settings.ts';

/** Starts a NATS server by the local program. */
export async function startLocalNats({
  configuration,
  dataDir,
  port,
  jetstream = true,
  maxFileBytes,
  onEnd,
  // The name proves that the server which answers is ours, and not another server that took the port first.
  name = `test-${randomUUID()}`,
}: NatsOptions): Promise<Server> {
  return startLocalServer({
    name: 'nats-server',
    scheme: 'nats',
    onEnd,
    binary: requireBinary('nats-server'),
    env: natsEnvironment(),
    dataDir,
    port,
    args: (place) => {
      const file = join(place.dataDir, 'nats-server.conf');
      const listen = `server_name: "${name}"\nlisten: "127.0.0.1:${place.port}"\n`;
      writePrivate(
        file,
        listen +
          natsConfiguration(join(place.dataDir, 'jetstream'), {
            configuration,
            jetstream,
            ...(maxFileBytes !== undefined && { maxFileBytes }),
          }),
      );
      return ['-c', file];
    },
    ready: async ({ port: at }) => {
      const info = await ask(at, '');
      return info.includes(name) && (!jetstream || /"jetstream":\s*true/.test(info));
    },
  });
}

/** Starts a Redis server by the local program. */
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
