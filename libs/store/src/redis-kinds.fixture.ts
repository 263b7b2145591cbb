import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  freePort,
  makeCertificate,
  redisTlsArgs,
  startRedis,
  startRedisCluster,
  startRedisSentinel,
} from '@agentmesh/testing';
import { afterAll, beforeAll, describe } from 'vitest';
import type { ConnectionOptions } from './redis-connection.ts';

/** A Redis that tests may use; keys begin with `am:`, as its users may touch no others. */
export interface RunningRedis extends AsyncDisposable {
  /** To connect as the mesh does. */
  options: Pick<ConnectionOptions, 'url' | 'caFile' | 'waitReplicas'>;
  /** To connect as somebody who may do everything. */
  admin: Pick<ConnectionOptions, 'url'>;
}

const password = 'p@ss:w/rd';
const account = `agentmesh:${encodeURIComponent(password)}`;

/** Redis in each way in which operators run it; the user of the mesh has the rights of deploy/redis/users.acl. */
export const redisKinds: { name: string; start(): Promise<RunningRedis> }[] = [
  {
    name: 'one server',
    start: () =>
      started(
        async () => await startRedis(),
        ({ url }) => ({ url }),
      ),
  },
  { name: 'one server with TLS, as a user of few rights', start: startTls },
  {
    name: 'a cluster of six whose replicas are waited for, as a user of few rights',
    start: () =>
      started(
        async (acl) => await startRedisCluster({ extraArgs: acl }),
        ({ url }) => ({ url: url.replace('//', `//${account}@`), waitReplicas: 1 }),
      ),
  },
  {
    name: 'the replica that Sentinels have promoted, as a user of few rights',
    start: () =>
      started(
        async (acl) => {
          const sentinel = await startRedisSentinel({ extraArgs: acl });
          await sentinel.failOver();
          return sentinel;
        },
        ({ url }) => ({ url: url.replace('//', `//${account}@`) }),
      ),
  },
];

/** Registers tests for each kind of Redis, which is started once for all of them. */
export function onEachRedis(tests: (redis: () => RunningRedis) => void): void {
  describe.each(redisKinds)('on $name', ({ start }) => {
    let running: RunningRedis;
    beforeAll(async () => {
      running = await start();
    });
    afterAll(() => running[Symbol.asyncDispose]());
    tests(() => running);
  });
}

async function started<S extends AsyncDisposable & { url: string }>(
  start: (acl: string[]) => Promise<S>,
  optionsOf: (server: S) => RunningRedis['options'],
): Promise<RunningRedis> {
  await using owners = new AsyncDisposableStack();
  const server = owners.use(await start(aclArgs(folder(owners))));
  const all = owners.move();
  return {
    options: optionsOf(server),
    admin: { url: server.url },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function startTls(): Promise<RunningRedis> {
  await using owners = new AsyncDisposableStack();
  const dir = folder(owners);
  const certificate = makeCertificate(dir);
  const port = await freePort();
  const server = owners.use(
    await startRedis({ extraArgs: [...aclArgs(dir), ...redisTlsArgs(certificate, port)] }),
  );
  const all = owners.move();
  return {
    options: { url: `rediss://${account}@localhost:${port}`, caFile: certificate.certFile },
    admin: { url: server.url },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function folder(owners: AsyncDisposableStack): string {
  const dir = mkdtempSync(join(tmpdir(), 'agentmesh-redis-kinds-'));
  owners.defer(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** The users that are deployed, and the default user with all rights, as whom the tests look behind the scenes. */
function aclArgs(dir: string): string[] {
  const deployed = readFileSync(new URL('../../../deploy/redis/users.acl', import.meta.url), 'utf8');
  const hash = createHash('sha256').update(password).digest('hex');
  const file = join(dir, 'users.acl');
  writeFileSync(
    file,
    deployed
      .replace('user default off', 'user default on nopass ~* &* +@all')
      .replaceAll(/#PASSWORD_OF_\w+/g, `#${hash}`),
  );
  return ['--aclfile', file, '--masteruser', 'replica', '--masterauth', password];
}
