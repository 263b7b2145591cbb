import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, createServer, type Server as NetServer } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { until } from '../processes/wait.ts';
import { startLocalServer } from './local-server.ts';
import type { Server } from './server.ts';
import { startNats, startRedis } from './servers.ts';

type Address = Pick<Server, 'host' | 'port'>;

afterEach(() => vi.unstubAllEnvs());

const alive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('starts NATS, and stop ends it and removes its data', async () => {
  await using server = await startNats();
  expect(server.url).toBe(`nats://${server.host}:${server.port}`);
  expect(await say(server, 'PING')).toContain('INFO');
  await server.stop();
  expect(await refuses(server)).toBe(true);
  expect(existsSync(server.dataDir)).toBe(false);
});

test('keeps the data of a killed Redis for a start at the same place', async () => {
  await using first = await startRedis({ appendOnly: true });
  expect(await say(first, 'SET k v')).toContain('+OK');
  await first.kill();
  await using second = await startRedis({ appendOnly: true, dataDir: first.dataDir, port: first.port });
  expect(await say(second, 'GET k')).toContain('v');
});

test('passes extra configuration on', async () => {
  await using nats = await startNats({ configuration: 'max_payload: 4096' });
  expect(await say(nats, 'PING')).toContain('"max_payload":4096');
  await using locked = await startRedis({ extraArgs: ['--requirepass', 'secret'] });
  expect(await say(locked, 'GET k')).toContain('NOAUTH');
});

test.runIf(process.platform === 'linux').each([
  ['', 'GOGC=400'],
  ['150', 'GOGC=150'],
])('runs NATS with fewer collections of garbage: GOGC=%j', async (given, expected) => {
  vi.stubEnv('MESH_TEST_SERVERS', 'local');
  vi.stubEnv('GOGC', given);
  await using server = await startNats();
  const variables = readFileSync(`/proc/${server.pid}/environ`, 'utf8').split('\0');
  expect(variables.filter((each) => each.startsWith('GOGC='))).toEqual([expected]);
  expect(variables).toContain(`PATH=${process.env.PATH}`);
});

test('reports the error of a server that does not start', async () => {
  vi.stubEnv('MESH_TEST_SERVERS', 'local');
  await expect(startNats({ configuration: 'no_such_field: 1' })).rejects.toThrow(/no_such_field/);
});

test('says what to install when the program is missing', async () => {
  vi.stubEnv('MESH_TEST_SERVERS', 'local');
  vi.stubEnv('MESH_NATS_BIN', '/nowhere/nats-server');
  await expect(startNats()).rejects.toThrow('MESH_NATS_BIN=/nowhere/nats-server is not a program');
});

test('takes another port when another process takes the chosen one first', async () => {
  const thieves: NetServer[] = [];
  await using server = await startLocalServer({
    name: 'redis-server',
    scheme: 'redis',
    binary: 'redis-server',
    dataDir: undefined,
    port: undefined,
    args: ({ port, dataDir }) => {
      if (thieves.length === 0)
        thieves.push(createServer((socket) => socket.end('+PONG\r\n')).listen(port, '127.0.0.1'));
      return ['--port', String(port), '--bind', '127.0.0.1', '--dir', dataDir, '--save', ''];
    },
    ready: async ({ log }) => log.includes('Ready to accept'),
  });
  expect(await say(server, 'PING')).toContain('+PONG');
  const [thief] = thieves;
  expect(thief?.address()).not.toMatchObject({ port: server.port });
  thief?.close();
});

test('ends the servers of a process that is killed', async () => {
  const script = `
    const { startNats, startRedis } = await import(${JSON.stringify(new URL('./servers.ts', import.meta.url).href)});
    const servers = [await startNats(), await startRedis()];
    console.log(JSON.stringify(servers.map(({ pid, port, dataDir }) => ({ pid, port, dataDir }))));
    setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, MESH_TEST_SERVERS: 'local' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(owner.stdout, 'data')) as [Buffer];
  const servers = JSON.parse(line.toString()) as { pid: number; port: number; dataDir: string }[];
  expect(servers.map(({ pid }) => alive(pid))).toEqual([true, true]);
  owner.kill('SIGKILL');
  // Checks ports, not process ids: in a container whose first process does not reap, killed processes stay as
  // zombies.
  const gone = async ({ port, dataDir }: { port: number; dataDir: string }) =>
    !existsSync(dataDir) && (await refuses({ host: '127.0.0.1', port }));
  await until(async () => (await Promise.all(servers.map(gone))).every(Boolean), {
    what: 'the servers of the killed process to end',
  });
});

function refuses({ host, port }: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('error', () => resolve(true));
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
  });
}

async function say({ host, port }: Address, line: string): Promise<string> {
  const socket = connect(port, host);
  socket.write(`${line}\r\n`);
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return data.toString();
}
