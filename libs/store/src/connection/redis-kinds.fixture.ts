import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Certificate,
  freePort,
  makeCertificate,
  redisTlsArgs,
  startRedis,
  startRedisCluster,
  startRedisSentinel,
} from '@agentmesh/testing';
import { casesOfTier } from '@agentmesh/testing/tiers';
import { afterAll, beforeAll, describe } from 'vitest';
import { commandsOf } from '../commands.ts';
import { provisionRedis } from '../functions.ts';
import type { ConnectionOptions } from './redis-connection.ts';

/** A Redis for tests; keys begin with `am:`, because its users may use no other keys. */
export interface RunningRedis extends AsyncDisposable {
  /** Options to connect as the mesh does. */
  options: Pick<ConnectionOptions, 'url' | 'caFile' | 'waitReplicas'>;
  /** Options to connect as a user with all rights. */
  admin: Pick<ConnectionOptions, 'url' | 'caFile'>;
}

const password = 'p@ss:w/rd';
const login = { user: 'sentinel', password };
const account = `store:${encodeURIComponent(password)}`;

/**
 * Redis in all kinds of deployment. The user `store` has the commands that the store needs and no others; it
 * may not load functions. Replicas and Sentinels have the rights of deploy/redis/users.acl.
 */
export const redisKinds: { name: string; start(): Promise<RunningRedis> }[] = [
  {
    name: 'one server',
    start: () =>
      started(async ({ owners }) => {
        const { url } = owners.use(await startRedis());
        return { options: { url }, admin: { url } };
      }),
  },
  {
    name: 'one server with TLS, as a user of few rights',
    start: () =>
      started(async ({ owners, acl, tls, caFile }) => {
        const port = await freePort();
        const { url } = owners.use(await startRedis({ extraArgs: [...acl, ...redisTlsArgs(tls, port)] }));
        return { options: { url: `rediss://${account}@localhost:${port}`, caFile }, admin: { url } };
      }),
  },
  {
    name: 'a cluster of six with TLS whose replicas are waited for, as a user of few rights',
    start: () =>
      started(async ({ owners, acl, tls, caFile }) => {
        const { url } = owners.use(await startRedisCluster({ tls, extraArgs: [...acl, ...byName] }));
        return { options: { url: asUser(url), caFile, waitReplicas: 1 }, admin: { url, caFile } };
      }),
  },
  {
    name: 'the replica that Sentinels with TLS have promoted, as a user of few rights',
    start: () =>
      started(async ({ owners, acl, tls, caFile }) => {
        const sentinel = owners.use(await startRedisSentinel({ tls, login, extraArgs: acl }));
        await sentinel.failOver();
        return { options: { url: asUser(sentinel.url), caFile }, admin: { url: sentinel.url, caFile } };
      }),
  },
];

/** Arguments of nodes that announce a name, as certificates mostly hold names. */
const byName = ['--cluster-announce-hostname', 'localhost', '--cluster-preferred-endpoint-type', 'hostname'];

const asUser = (url: string) => url.replace('//', `//${account}@`);

/** Registers tests for each kind of Redis of the tier, which is started once for all of them. */
export function onEachRedis(tests: (redis: () => RunningRedis) => void): void {
  describe.each(casesOfTier(redisKinds))('on $name', ({ start }) => {
    let running: RunningRedis;
    beforeAll(async () => {
      running = await start();
    });
    afterAll(() => running[Symbol.asyncDispose]());
    tests(() => running);
  });
}

interface Means {
  owners: AsyncDisposableStack;
  /** The arguments of a server for its users. */
  acl: string[];
  tls: Certificate;
  caFile: string;
}

async function started(
  start: (means: Means) => Promise<Omit<RunningRedis, typeof Symbol.asyncDispose>>,
): Promise<RunningRedis> {
  await using owners = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'agentmesh-redis-kinds-'));
  owners.defer(() => rmSync(dir, { recursive: true, force: true }));
  const tls = makeCertificate(dir);
  const running = await start({ owners, acl: aclArgs(dir), tls, caFile: tls.certFile });
  await provisionRedis(running.admin);
  const all = owners.move();
  return { ...running, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

const commands = commandsOf(['connection', 'calls', 'credentials', 'memory', 'sessions'])
  .map((command) => `+${command}`)
  .join(' ');

/**
 * Returns the arguments for the deployed users and for the default user with all rights, with which the tests
 * inspect the keys.
 */
function aclArgs(dir: string): string[] {
  const deployed = readFileSync(new URL('../../../../deploy/redis/users.acl', import.meta.url), 'utf8');
  const hash = createHash('sha256').update(password).digest('hex');
  const file = join(dir, 'users.acl');
  writeFileSync(
    file,
    deployed
      .replace('user default off', 'user default on nopass')
      .concat(`user store on #PASSWORD_OF_STORE resetchannels ~am:* ${commands}\n`)
      .replaceAll(/#PASSWORD_OF_\w+/g, `#${hash}`),
  );
  return ['--aclfile', file, '--masteruser', 'replica', '--masterauth', password];
}
