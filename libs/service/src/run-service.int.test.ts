import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';

type Line = Record<string, unknown> & { msg: string };

const fixture = fileURLToPath(new URL('./run-child.fixture.ts', import.meta.url));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function run(mode: string, graceMs = 20_000, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [fixture, mode, String(graceMs)], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const lines: Line[] = [];
  const waiting = new Map<string, (line: Line) => void>();
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Line;
    lines.push(line);
    waiting.get(line.msg)?.(line);
  });
  const exit = once(child, 'close') as Promise<[code: number | null, signal: string | null]>;
  return {
    child,
    lines,
    messages: () => lines.map(({ msg }) => msg),
    stopped: () => lines.filter(({ msg }) => msg === 'owner stops').map(({ owner }) => owner),
    saw(msg: string): Promise<Line> {
      const line = lines.find((known) => known.msg === msg);
      return line ? Promise.resolve(line) : new Promise((resolve) => waiting.set(msg, resolve));
    },
    exitCode: async () => (await exit)[0],
  };
}

it.each(['SIGTERM', 'SIGINT'] as const)('stops its owners in reverse and exits 0 on %s', async (signal) => {
  const { child, saw, exitCode, messages, stopped } = run('well');
  await saw('started');
  child.kill(signal);
  expect(await exitCode()).toBe(0);
  expect(stopped()).toEqual(['second', 'first']);
  expect(messages().at(-1)).toBe('stopped');
});

it('logs the warnings of code without a log', async () => {
  const { child, saw, exitCode } = run('warns');
  expect(await saw('the memory is away')).toMatchObject({ level: 'warn', code: 'AGENTMESH_MEMORY' });
  await saw('started');
  child.kill('SIGTERM');
  expect(await exitCode()).toBe(0);
});

it('exits 1 with one line and no stack when a start fails with an expected error', async () => {
  const { exitCode, lines, stopped } = run('mesh-error');
  expect(await exitCode()).toBe(1);
  expect(stopped()).toEqual(['first']);
  expect(lines.filter(({ level }) => level === 'error')).toEqual([
    expect.objectContaining({
      msg: 'child could not start',
      code: 'unavailable',
      reason: 'nats is away; start it',
      causes: ['connect refused'],
    }),
  ]);
  expect(JSON.stringify(lines)).not.toContain('stack');
});

it('exits 1 with the stack when a start fails by a defect', async () => {
  const { exitCode, lines } = run('defect');
  expect(await exitCode()).toBe(1);
  expect(lines.at(-1)).toMatchObject({
    err: { type: 'TypeError', stack: expect.stringContaining('fixture') },
  });
});

it('gives up a start and exits 0 when it must stop meanwhile', async () => {
  const { child, saw, exitCode, stopped } = run('slow-start');
  await saw('starting');
  child.kill('SIGTERM');
  expect(await exitCode()).toBe(0);
  expect(stopped()).toEqual(['first']);
});

it.each(['stuck', 'deaf-start'])('exits 1 when the grace period is over (%s)', async (mode) => {
  const { child, saw, exitCode, messages } = run(mode, 50);
  await saw(mode === 'stuck' ? 'started' : 'starting');
  child.kill('SIGTERM');
  expect(await exitCode()).toBe(1);
  expect(messages().at(-1)).toBe('not stopped within the grace period');
});

it('exits at once on a second signal', async () => {
  const { child, saw, exitCode } = run('stuck');
  await saw('started');
  child.kill('SIGTERM');
  await saw('owner stops');
  child.kill('SIGTERM');
  expect(await exitCode()).toBe(143);
});

it.each(['rejects', 'throws'])('stops and exits 1 when an error was not caught (%s)', async (mode) => {
  const { exitCode, lines, stopped } = run(mode);
  expect(await exitCode()).toBe(1);
  expect(stopped()).toEqual(['second', 'first']);
  expect(lines.find(({ level }) => level === 'fatal')).toMatchObject({
    err: { message: 'nobody caught this' },
  });
});

it('exits 1 when an owner fails to stop, after stopping the others', async () => {
  const { child, saw, exitCode, stopped } = run('stop-fails');
  await saw('started');
  child.kill('SIGTERM');
  expect(await exitCode()).toBe(1);
  expect(stopped()).toEqual(['third', 'second', 'first']);
});

it('exits 0 in spite of a forgotten handle, and names it', async () => {
  const { child, saw, exitCode, lines } = run('leak');
  await saw('started');
  child.kill('SIGTERM');
  expect(await exitCode()).toBe(0);
  expect(lines.at(-1)).toMatchObject({ level: 'warn', open: expect.arrayContaining(['TCPServerWrap']) });
});

it('serves its health over HTTP until it has stopped', async () => {
  const { child, saw, exitCode } = run('health');
  const { port } = await saw('health');
  const live = await fetch(`http://127.0.0.1:${port}/livez`);
  expect([live.status, await live.json()]).toEqual([200, { ok: true, reasons: [] }]);
  const ready = await fetch(`http://127.0.0.1:${port}/readyz?verbose`);
  expect([ready.status, await ready.json()]).toEqual([503, { ok: false, reasons: ['warming up'] }]);
  child.kill('SIGTERM');
  expect(await exitCode()).toBe(0);
});

it.each(['refuses', 'does not answer'])(
  'stops in time, with one warning, while the receiver of traces %s',
  async (how) => {
    const receiver = createServer(() => {});
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const { port } = receiver.address() as AddressInfo;
    if (how === 'refuses') await new Promise((resolve) => receiver.close(resolve));
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      NO_PROXY: '127.0.0.1',
    };
    const { child, saw, exitCode, lines, messages } = run('traces', 20_000, env);
    await saw('started');
    child.kill('SIGTERM');
    expect(await exitCode()).toBe(0);
    expect(lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg)).toEqual([
      expect.stringContaining('spans cannot be sent'),
    ]);
    // The warning that handles are open would be a second one. The last export may fail after the stop.
    expect(messages()).toContain('stopped');
    receiver.close();
  },
);
