import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  busName,
  gatewayManifest,
  keeperManifest,
  provisionUser,
  redisPasswordVariable,
} from '@agentmesh/mesh';
import { connectRedisStore, provisionRedis } from '@agentmesh/store';
import { findBinary, freePort, until } from '@agentmesh/testing';
import { expect, it, onTestFinished } from 'vitest';
import { samples } from '../local/samples.ts';

const here = dirname(fileURLToPath(import.meta.url));
// Without a local program the script has nothing to start: the servers then run only in containers.
const program = findBinary('redis-server') ?? '';
const test = it.skipIf(program === '');

/** Runs the script of compose.yaml. */
async function start(
  env: Record<string, string>,
  folder = mkdtempSync(join(tmpdir(), 'agentmesh-redis-start-')),
) {
  const port = await freePort();
  mkdirSync(join(folder, 'bin'), { recursive: true });
  const link = join(folder, 'bin', 'redis-server');
  if (!existsSync(link)) symlinkSync(program, link);
  const path = `${join(folder, 'bin')}:${process.env.PATH}`;
  const args = [
    join(here, 'users.acl'),
    folder,
    '--port',
    String(port),
    '--save',
    '',
    '--dir',
    folder,
    '--appendonly',
    'yes',
  ];
  const child = spawn(join(here, 'start.sh'), args, {
    env: { PATH: path, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  onTestFinished(async () => {
    if (child.exitCode === null && child.kill()) await once(child, 'exit');
    rmSync(folder, { recursive: true, force: true });
  });
  return { child, port, folder, said: () => said };
}

/** Returns what Redis has written to its files so far. */
function writtenIn(folder: string): string {
  const files = join(folder, 'appendonlydir');
  return readdirSync(files)
    .map((name) => readFileSync(join(files, name), 'latin1'))
    .join('');
}

const users = [
  provisionUser,
  ...[gatewayManifest, keeperManifest, ...samples.map(({ manifest }) => manifest)].map(busName),
];
const passwords = Object.fromEntries(users.map((user) => [redisPasswordVariable(user), `pa55word-${user}`]));

test('the Redis of compose.yaml admits only the users of the mesh, and hides their passwords from other processes', async () => {
  const { child, port, folder, said } = await start(passwords);
  await until(() => said().includes('Ready to accept'), { what: 'Redis to start' });
  const urlOf = (user: string) => `redis://${user}:pa55word-${user}@127.0.0.1:${port}`;
  await provisionRedis({ url: urlOf(provisionUser) });
  for (const user of users) await (await connectRedisStore({ url: urlOf(user) }))[Symbol.asyncDispose]();
  await using store = await connectRedisStore({ url: urlOf('gateway') });
  const { id } = await store.sessions.createSession({ appName: 'app', userId: 'u' });
  expect(await store.sessions.getSession({ appName: 'app', userId: 'u', sessionId: id })).toMatchObject({
    id,
  });
  for (const login of ['', 'gateway:wrong@', 'gateway:pa55word-provision@', ':pa55word-gateway@'])
    await expect(connectRedisStore({ url: `redis://${login}127.0.0.1:${port}` })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  if (process.platform === 'linux')
    expect(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')).not.toContain('pa55word');
  expect(statSync(join(folder, 'users.acl')).mode & 0o777).toBe(0o600);
});

test('keeps what services have written when it is killed and starts again, and nobody logs in without a name', async () => {
  const first = await start(passwords);
  await until(() => first.said().includes('Ready to accept'), { what: 'Redis to start' });
  const urlAt = (port: number, user: string) => `redis://${user}:pa55word-${user}@127.0.0.1:${port}`;
  await provisionRedis({ url: urlAt(first.port, provisionUser) });
  const session = { appName: 'app', userId: 'u', sessionId: 's' };
  {
    await using store = await connectRedisStore({ url: urlAt(first.port, 'gateway') });
    await store.sessions.createSession({ ...session, state: { color: 'blue' } });
  }
  // While a sync is under way, Redis keeps what it has acknowledged in its memory.
  await until(() => writtenIn(first.folder).includes('blue'), { what: 'the session in the file of Redis' });
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  const second = await start(passwords, first.folder);
  await until(() => second.said().includes('Ready to accept'), { what: 'Redis to start again' });
  await using store = await connectRedisStore({ url: urlAt(second.port, 'gateway') });
  expect(await store.sessions.getSession(session)).toMatchObject({ state: { color: 'blue' } });
  expect(second.said()).not.toContain('CRITICAL');
  for (const login of ['', ':default@', 'default:default@'])
    await expect(
      connectRedisStore({ url: `redis://${login}127.0.0.1:${second.port}` }),
    ).rejects.toMatchObject({
      code: 'unauthenticated',
    });
});

test('does not start without the password of each service', async () => {
  const { child, said } = await start({ ...passwords, REDIS_PASSWORD_GATEWAY: '' });
  const [code] = await once(child, 'exit');
  expect(code).not.toBe(0);
  expect(said()).toContain('set the passwords of the users of Redis: REDIS_PASSWORD_GATEWAY');
});
