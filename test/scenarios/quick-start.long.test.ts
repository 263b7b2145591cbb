import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseEnv, promisify } from 'node:util';
import { endProcess, spawnGuarded, until } from '@agentmesh/testing';
import { connect, credsAuthenticator } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const quickStart = /## Quick start\n(.*?)\n## /s.exec(readme)?.[1] ?? '';
/** The shell commands of the quick start, block by block. */
const blocks = [...quickStart.matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => text ?? '');

const data = mkdtempSync(join(tmpdir(), 'agentmesh-quick-start-'));
let mesh: ReturnType<typeof spawnGuarded>;
let port: number;
/** The lines that npm start prints. */
const printed: string[] = [];
/** Variables that a person may have exported for npm start, and that each other command inherits. */
let exported: NodeJS.ProcessEnv;

beforeAll(async () => {
  port = await freePort();
  const [command = '', ...args] = (blocks[1] ?? '').trim().split(/\s+/);
  exported = {
    ...{ MESH_HTTP_PORT: String(port), MESH_DATA_DIR: data },
    ...{ MESH_LOG_FORMAT: 'text', MESH_HEALTH_PORT: '0' },
  };
  const env = { ...process.env, ...exported };
  mesh = spawnGuarded([command, ...args], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const running = Promise.withResolvers<void>();
  if (!mesh.stdout) throw new Error('no output');
  createInterface(mesh.stdout).on('line', (line) => {
    printed.push(line);
    if (line.startsWith('The mesh is running')) running.resolve();
  });
  mesh.once('exit', (code) => running.reject(new Error(`npm start ended with ${code}`)));
  await running.promise;
});
afterAll(async () => {
  // The output ends when the last process of the mesh has ended.
  const over = new Promise((resolve) => mesh.once('close', resolve));
  await endProcess(mesh, 'SIGTERM', 40_000);
  await over;
  rmSync(data, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== 'object' || !address) throw new Error('no address');
  return address.port;
}

/** Runs commands of a document with another port and another data folder. `flags`: those of the shell. */
async function sh(commands: string, flags = '-ec'): Promise<string> {
  const here = commands.replaceAll('localhost:8000', `127.0.0.1:${port}`).replaceAll('.mesh/', `${data}/`);
  const env = { ...process.env, ...exported };
  const { stdout } = await promisify(execFile)('bash', [flags, here], { cwd: root, env });
  return stdout;
}

describe("the README's quick start", () => {
  it('begins with the two commands that set everything up', () => {
    expect(blocks[0]).toMatch(/^npm run demo .*\nnpm test .*\n$/);
    expect(blocks[1]).toBe('npm start\n');
  });

  it('talks to the running mesh with curl', async () => {
    const output = await sh(blocks[2] ?? '');
    expect(output).toContain('"transferToAgent":"support_agent"');
    expect(output).toMatch(/data: .*"author":"support_agent"/);
  });

  it('talks to it over plain NATS, with scripts of about ten lines that do not use agentmesh', async () => {
    const output = await sh(blocks[3] ?? '');
    expect(output).toContain('GOOG stands at $182.4.');
    expect(output).toContain('MSFT stands at $415.7.');
    for (const name of ['ask', 'publish']) {
      const script = readFileSync(join(root, `docs/examples/${name}.mjs`), 'utf8');
      expect(script).not.toContain('@agentmesh');
      expect(script.trim().split('\n').length).toBeLessThanOrEqual(16);
    }
  });

  it('takes one more service while it runs', async () => {
    const output = await sh('npm run --silent mesh -- join clock --kind tool --json');
    const { env } = JSON.parse(output.slice(output.indexOf('{'))) as { env: string };
    const variables = parseEnv(readFileSync(env, 'utf8'));
    const authenticator = credsAuthenticator(readFileSync(variables.MESH_NATS_CREDS ?? ''));
    const login = { servers: variables.NATS_URL ?? '', authenticator, reconnect: false };
    const connection = await connect(login);
    expect(await sh('npm run --silent mesh -- revoke clock')).toContain('its connections are closed');
    await connection.closed();
    await expect(connect(login)).rejects.toThrow(/Authorization/i);
  });

  it('prints a line at the begin and at the end of each run, as text', async () => {
    const lineOf = (message: string) =>
      new RegExp(`^[\\d:.]+ INFO {2}agent_support_agent: ${message} .*invocationId=`);
    for (const message of ['run began', 'run ended'])
      await until(() => printed.some((line) => lineOf(message).test(line)), { what: message });
  });

  it('takes commands with the same exported variables', async () => {
    expect(await sh('npm run --silent mesh -- cards list')).toContain('support_agent');
  });

  it('has a document analysed', async () => {
    const page = readFileSync(join(root, 'docs/artifacts.md'), 'utf8');
    const output = await sh(/```sh\n(session=.*?)```/s.exec(page)?.[1] ?? '');
    expect(output).toContain('The analysis is in analysis_report.txt, version 0.');
    expect(output).toContain('- Profit rose in spring.');
  });
});

it('lists the health ports of all processes for Prometheus', async () => {
  const [{ targets }] = JSON.parse(readFileSync(join(data, 'targets.json'), 'utf8')) as [
    { targets: string[] },
  ];
  const pages = targets.map(async (target) => await (await fetch(`http://${target}/metrics`)).text());
  const names = (await Promise.all(pages)).map(
    (page) => /^target_info\{.*service_name="([^"]+)"/m.exec(page)?.[1],
  );
  expect(new Set(names).size).toBe(targets.length);
  expect(names).toEqual(expect.arrayContaining(['gateway', 'agent_weather_agent', 'tool_get_weather']));
});

describe('the drill by hand', () => {
  const drill = readFileSync(join(root, 'docs/drill.md'), 'utf8');
  const byHand = /## By hand\n(.*?)\n## /s.exec(drill)?.[1] ?? '';
  const steps = [...byHand.matchAll(/```sh\n(.*?)```/gs)].map(([, text = '']) => text);
  const doctor = async () => await sh('npm run --silent mesh -- doctor || true');

  it.each([
    ['an approval', 0, /^.*confirmation.*$/m],
    ['a full Redis', 1, /^! redis-memory: Redis uses \d+ % of its memory/m],
    ['a missing right', 2, /^✗ redis-rights: Redis refused in the last ten minutes: .*agent_weather_agent/m],
    ['a lost replica', 3, /^! replicas: no replica of agent weather_agent is up/m],
    ['two versions', 4, /^! versions: tool get_weather runs in 2 versions: 0\.0\.9 \(1\)/m],
  ])('plants %s, finds it, and ends it', async (_what, at, sign) => {
    // The doctor exits with 1. A tool has no port for requests.
    expect(await sh(`unset MESH_HTTP_PORT; ${steps[at]}`, '-c')).toMatch(sign);
    await until(async () => !sign.test(await doctor()), { what: 'the end of the sign', timeoutMs: 20_000 });
  });

  it('ends with a limit that the gateway has', () => {
    expect(steps).toHaveLength(6);
    expect(steps[5]).toContain('MESH_HTTP_USER_RUNS_PER_MINUTE=2 npm start');
  });
});
