import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { until } from '../processes/wait.ts';
import { startRestartable } from '../servers/restartable-server.ts';
import { startNats, startRedis } from '../servers/servers.ts';
import { natsMessages } from './nats-messages.ts';
import { pauseProcess, pauseProcessFor } from './process-pause.ts';
import { startTcpProxy } from './tcp-proxy.ts';

interface Line extends AsyncDisposable {
  say(text: string): void;
  /** Returns all text received so far. */
  heard(): string;
  ended(): boolean;
}

async function dial({ host, port }: { host: string; port: number }): Promise<Line> {
  const socket: Socket = connect(port, host);
  let text = '';
  let ended = false;
  socket.on('data', (data) => {
    text += data;
  });
  socket.on('error', () => {});
  socket.once('close', () => {
    ended = true;
  });
  await once(socket, 'connect');
  return {
    say: (line) => void socket.write(line),
    heard: () => text,
    ended: () => ended,
    async [Symbol.asyncDispose]() {
      socket.destroy();
    },
  };
}

const pongs = (line: Line) => line.heard().split('+PONG').length - 1;

test('a proxy passes, delays and stalls bytes, and heals', async () => {
  await using redis = await startRedis();
  await using proxy = await startTcpProxy(redis);
  await using line = await dial(proxy);
  line.say('PING\r\n');
  await until(() => pongs(line) === 1);
  proxy.delay(100);
  const at = performance.now();
  line.say('PING\r\n');
  await until(() => pongs(line) === 2);
  expect(performance.now() - at).toBeGreaterThan(190);
  proxy.heal();
  proxy.stall();
  line.say('PING\r\n');
  await using direct = await dial(redis);
  for (let count = 1; count <= 20; count += 1) {
    direct.say('PING\r\n');
    await until(() => pongs(direct) === count);
  }
  expect(pongs(line)).toBe(2);
  expect(line.ended()).toBe(false);
  proxy.heal();
  await until(() => pongs(line) === 3, { what: 'the stalled bytes to pass' });
});

test('a proxy cuts open connections and refuses new ones', async () => {
  await using redis = await startRedis();
  await using proxy = await startTcpProxy(redis);
  await using first = await dial(proxy);
  await until(() => proxy.connections === 1);
  proxy.cut();
  await until(() => first.ended());
  await using second = await dial(proxy);
  second.say('PING\r\n');
  await until(() => pongs(second) === 1);
  proxy.refuse();
  await until(() => second.ended());
  // The reset may come before the client reports its connection.
  const third = await dial(proxy).catch(() => undefined);
  await until(() => third?.ended() ?? true, { what: 'the connection to be refused' });
  proxy.heal();
  await using fourth = await dial(proxy);
  fourth.say('PING\r\n');
  await until(() => pongs(fourth) === 1);
});

test('a proxy duplicates and drops messages of NATS', async () => {
  await using nats = await startNats();
  const rewrite = natsMessages(({ direction, subject }) =>
    direction === 'down' ? 'pass' : subject === 'twice' ? 'duplicate' : subject === 'never' ? 'drop' : 'pass',
  );
  await using proxy = await startTcpProxy({ host: nats.host, port: nats.port, rewrite });
  await using line = await dial(proxy);
  const send = (subject: string) => line.say(`PUB ${subject} 2\r\nhi\r\n`);
  line.say('CONNECT {"verbose":false}\r\nSUB > 1\r\n');
  for (const subject of ['twice', 'never', 'once']) send(subject);
  line.say('PING\r\n');
  await until(() => line.heard().includes('PONG'));
  expect(line.heard().match(/MSG (\S+)/g)).toEqual(['MSG twice', 'MSG twice', 'MSG once']);
});

test('a paused process does nothing until it is resumed', async () => {
  const child = spawn(
    process.execPath,
    ['-e', 'process.stdin.on("data", (data) => process.stdout.write(data))'],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const { pid = 0, stdin, stdout } = child;
  const lines: string[] = [];
  createInterface(stdout).on('line', (line) => lines.push(line));
  stdin.write('before\n');
  await until(() => lines.length === 1, { what: 'the process to answer' });
  const paused = pauseProcess(pid);
  const other = until(() => lines.length === 2, { timeoutMs: 150 });
  stdin.write('meanwhile\n');
  await expect(other).rejects.toThrow('waited');
  paused.resume();
  await until(() => lines.length === 2, { what: 'the process to go on' });
  const at = performance.now();
  await pauseProcessFor(pid, 80);
  expect(performance.now() - at).toBeGreaterThanOrEqual(79);
  stdin.write('after\n');
  await until(() => lines.length === 3);
  const again = pauseProcess(pid);
  child.kill('SIGKILL');
  await once(child, 'exit');
  again.resume();
  expect(() => pauseProcess(process.pid)).toThrow(RangeError);
  expect(() => pauseProcess(0)).toThrow(RangeError);
});

test('a killed server comes back on the same port with its data', async () => {
  await using redis = await startRestartable((place) =>
    startRedis({ ...place, appendOnly: true, extraArgs: ['--appendfsync', 'always'] }),
  );
  const { port, pid } = redis;
  await using line = await dial(redis);
  line.say('SET k v\r\n');
  await until(() => line.heard().includes('+OK'));
  await redis.kill();
  await redis.kill();
  expect(redis.kills).toBe(1);
  await redis.start();
  await redis.start();
  expect(redis.port).toBe(port);
  expect(redis.pid).not.toBe(pid);
  await using again = await dial(redis);
  again.say('GET k\r\n');
  await until(() => again.heard().includes('$1\r\nv'));
});

test('a process dies at the armed point', async () => {
  const script = `
    const { addKillPoints, createKiller } = await import(${JSON.stringify(new URL('../index.ts', import.meta.url).href)});
    const killer = createKiller();
    const sessions = { appendEvent: async () => console.log('committed') };
    addKillPoints(killer, { sessions });
    killer.arm('after-commit', 1);
    for (;;) await sessions.appendEvent();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (data) => {
    output += data;
  });
  const [, signal] = await once(child, 'close');
  expect(signal).toBe('SIGKILL');
  expect(output).toBe('committed\ncommitted\n');
});
