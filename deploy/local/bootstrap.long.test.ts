import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';

// A small working copy whose npx "installs" only Node. It tests the bootstrap's own steps without a registry.
const here = dirname(fileURLToPath(import.meta.url));
let root: string;
const children: ChildProcess[] = [];

async function script(path: string, text: string) {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
  await chmod(join(root, path), 0o755);
}

const installing = `#!/bin/sh
echo "$@" >> installs.log
mkdir -p node_modules/.bin
ln -sf "${process.execPath}" node_modules/.bin/node
`;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'agentmesh-bootstrap-'));
  for (const name of ['bootstrap', 'install', 'lock', 'modern-nats', 'process', 'servers']) {
    await cp(join(here, `${name}.mjs`), join(root, 'deploy/local', `${name}.mjs`));
  }
  await writeFile(join(root, 'package.json'), '{"type":"module","packageManager":"pnpm@12.0.0"}');
  await writeFile(join(root, 'pnpm-lock.yaml'), "lockfileVersion: '9.0'\n");
  await writeFile(join(root, 'pnpm-workspace.yaml'), 'packages: []\n');
  await script('bin/npx', installing);
  await writeFile(
    join(root, 'deploy/local/demo.ts'),
    `console.log(JSON.stringify({ args: process.argv.slice(2), nats: process.env.MESH_NATS_BIN ?? null, path: process.env.PATH }));
    const times: number = Number(process.argv[2] ?? 0);
    process.exitCode = times;`,
  );
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(root, { recursive: true, force: true });
});

const servers = { NATS_URL: 'nats://127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:1' };

function bootstrap(args: string[], env: NodeJS.ProcessEnv = servers) {
  const child = spawn(process.execPath, [join(root, 'deploy/local/bootstrap.mjs'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${join(root, 'bin')}${delimiter}/usr/bin${delimiter}/bin`, ...env },
  });
  children.push(child);
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  const result = once(child, 'close').then(([exitCode]) => ({ exitCode: exitCode as number, output }));
  return { child, result, output: () => output };
}

const installs = async () => (await readFile(join(root, 'installs.log'), 'utf8')).trim().split('\n');

it('installs once, runs the command with its arguments and returns its exit code', async () => {
  const first = await bootstrap(['demo', '--', '3', 'x']).result;
  expect(first.output).toContain('• installing dependencies (first run)\n');
  expect(first.exitCode).toBe(3);
  const said = JSON.parse(first.output.split('\n').at(-2) ?? '');
  expect(said.args).toEqual(['3', 'x']);
  expect(said.path.split(delimiter)[0]).toBe(join(root, 'node_modules/.bin'));
  const second = await bootstrap(['demo']).result;
  expect(second.exitCode).toBe(0);
  expect(second.output).not.toContain('•');
  expect(await installs()).toEqual(['--yes pnpm@12.0.0 install --no-frozen-lockfile --pm-on-fail=ignore']);
});

it('installs again when a manifest or the lock file has changed', async () => {
  await bootstrap(['demo']).result;
  await mkdir(join(root, 'libs/new'), { recursive: true });
  await writeFile(join(root, 'libs/new/package.json'), '{}');
  const { output } = await bootstrap(['demo']).result;
  expect(output).toContain('• installing dependencies (they have changed)\n');
  expect(await installs()).toHaveLength(2);
});

it('installs once when the installation itself changes the lock file', async () => {
  await script('bin/npx', `${installing}echo "# a new package" >> pnpm-lock.yaml\n`);
  await bootstrap(['demo']).result;
  expect((await bootstrap(['demo']).result).output).not.toContain('•');
  expect(await installs()).toHaveLength(1);
});

it('installs once when three are started at once', async () => {
  const results = await Promise.all([1, 2, 3].map(() => bootstrap(['demo']).result));
  expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
  expect(await installs()).toHaveLength(1);
});

it('takes over the lock of a dead process', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await script('bin/npx', '#!/bin/sh\nexec sleep 5\n');
  const first = bootstrap(['demo']);
  first.child.stdout.on('data', () => resolve());
  await promise;
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  await script('bin/npx', installing);
  expect((await bootstrap(['demo']).result).exitCode).toBe(0);
});

it('shows the output of pnpm and fails when the installation fails', async () => {
  await script('bin/npx', '#!/bin/sh\necho "no space left" >&2\nexit 7\n');
  const { exitCode, output } = await bootstrap(['demo']).result;
  expect(exitCode).toBe(7);
  expect(output).toContain('no space left\n');
  expect(output).not.toContain('at async');
});

it('finds servers on the path and passes them to the command', async () => {
  await script('bin/nats-server', '#!/bin/sh\necho nats-server: v2.10.0\n');
  await script('bin/redis-server', '#!/bin/sh\n');
  const { output } = await bootstrap(['demo'], {}).result;
  expect(JSON.parse(output.split('\n').at(-2) ?? '').nats).toBe(join(root, 'bin/nats-server'));
});

it('fetches a newer nats-server, once, where that of the machine is too old', async () => {
  await script('bin/nats-server', '#!/bin/sh\necho nats-server: v2.9.10\n');
  await script('bin/redis-server', '#!/bin/sh\n');
  await script('bin/apt-get', '#!/bin/sh\necho "$@" >> fetched.log\ntouch nats-server.deb\n');
  await script('bin/dpkg-deb', '#!/bin/sh\nmkdir -p "$3/usr/sbin"\ntouch "$3/usr/sbin/nats-server"\n');
  for (let time = 0; time < 2; time += 1) {
    const { output } = await bootstrap(['demo'], {}).result;
    const { nats } = JSON.parse(output.split('\n').at(-2) ?? '');
    expect(nats).toBe(join(root, '.mesh/servers/nats-server-trixie'));
    expect(output.includes('nats-server 2.9.10 is too old')).toBe(time === 0);
  }
});

it('says what to do with a nats-server that is too old', async () => {
  await script('bin/nats-server', '#!/bin/sh\necho nats-server: v2.9.10\n');
  await script('bin/redis-server', '#!/bin/sh\n');
  const given = await bootstrap(['demo'], { MESH_NATS_BIN: join(root, 'bin/nats-server') }).result;
  expect([given.exitCode, given.output]).toEqual([
    2,
    expect.stringMatching(/is 2\.9\.10; the mesh needs 2\.10/),
  ]);
  await script('bin/apt-get', '#!/bin/sh\necho no network\nexit 100\n');
  const { exitCode, output } = await bootstrap(['demo'], {}).result;
  expect([exitCode, output]).toEqual([2, expect.stringMatching(/no network\n.*\n.*the mesh needs 2\.10/)]);
});

it('refuses a missing server program', async () => {
  const { exitCode, output } = await bootstrap(['demo'], { MESH_NATS_BIN: '/nowhere/nats-server' }).result;
  expect([exitCode, output.split('\n').at(-2)]).toEqual([
    2,
    'MESH_NATS_BIN is /nowhere/nats-server, which is not a program',
  ]);
});

it('passes a signal on and reports how the command ended', async () => {
  await writeFile(
    join(root, 'deploy/local/demo.ts'),
    `process.on('SIGTERM', () => process.exit(42)); setInterval(() => {}, 1000); console.log('ready');`,
  );
  const { child, result, output } = bootstrap(['demo']);
  await expect.poll(output).toContain('ready');
  child.kill('SIGTERM');
  expect((await result).exitCode).toBe(42);
});

it('runs named tests without the checks of the whole repository', async () => {
  const programs = ['nats-server', 'redis-server', 'python3', 'chromium', 'promtool'];
  for (const name of programs) await script(`bin/${name}`, '#!/bin/sh\necho nats-server: v2.10.0\n');
  await script('node_modules/@biomejs/biome/bin/biome', 'process.exitCode = 1;\n');
  await script('node_modules/vitest/vitest.mjs', 'console.log(process.argv.slice(2).join(" "));\n');
  const named = await bootstrap(['test', '--', 'one.test.ts'], {}).result;
  expect([named.exitCode, named.output]).toEqual([0, expect.stringMatching(/^run .* one\.test\.ts$/m)]);
  const all = await bootstrap(['test'], {}).result;
  expect([all.exitCode, all.output]).toEqual([1, expect.not.stringMatching(/^run /m)]);
});

it('exits with 2 and lists its commands when a command is unknown', async () => {
  const { exitCode, output } = await bootstrap(['demmo']).result;
  expect([exitCode, output]).toEqual([2, expect.stringMatching(/^usage: .*demo\|start\|/)]);
});
