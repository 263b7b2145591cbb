import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { lockFolder } from '@agentmesh/cli/local';
import { launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { until } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

describe('the launcher', () => {
  it('finds every agent and tool of the repository by its definition', () => {
    const folders = ['services/agents', 'services/tools'].flatMap((parent) =>
      readdirSync(join(root, parent)).map((name) => `${parent}/${name}`),
    );
    const packages = folders.filter((folder) => existsSync(join(root, folder, 'package.json')));
    expect(samples.map(({ folder }) => folder).sort()).toEqual(packages.sort());
    const kinds = new Map(samples.map(({ manifest }) => [manifest.name, manifest.kind]));
    expect(kinds.get('stock_agent')).toBe('agent');
    expect(kinds.get('get_weather')).toBe('tool');
  });

  it('reports the reason of a service that cannot start, and stops the others', async () => {
    const [stock, ...others] = samples;
    if (!stock) throw new Error('no sample');
    // Its process logs in as a user without the necessary rights.
    const wrong = { ...stock, manifest: { ...stock.manifest, name: 'somebody_else' } };
    await expect(launchMesh({ services: [wrong, ...others.slice(0, 2)], model: 'scripted' })).rejects.toThrow(
      /somebody_else could not start: .*may not/,
    );
  });

  it('refuses an agent without a key unless it answers from its script', async () => {
    const services = samples.filter(({ manifest }) => manifest.name === 'stock_agent');
    const env = { GEMINI_API_KEY: '', GOOGLE_API_KEY: '' };
    await expect(launchMesh({ services, env })).rejects.toThrow(
      /stock_agent could not start: no key for model gemini-2.5-flash: set GEMINI_API_KEY or GOOGLE_API_KEY\..*MESH_MODEL=scripted/,
    );
  });

  it('says which app a definition must export when its Redis user has no rights for it', async () => {
    const [stock] = samples.filter(({ manifest }) => manifest.name === 'stock_agent');
    if (!stock) throw new Error('there is no stock_agent');
    const services = [{ ...stock, manifest: { ...stock.manifest, app: 'other_app' } }];
    await expect(launchMesh({ services, model: 'scripted' })).rejects.toThrow(
      /stock_agent could not start: the redis user of agent stock_agent has no rights for app stock_app; export new App/,
    );
  });

  it('reports a missing Redis before it starts anything', async () => {
    await expect(launchMesh({ redisUrl: 'redis://127.0.0.1:1' })).rejects.toThrow(/redis/i);
  });

  it('removes the cards of old services, protects its files, and restarts dead processes', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'agentmesh-launch-'));
    const named = (name: string) => samples.filter(({ manifest }) => manifest.name === name);
    const appsOf = async (url: string) => (await (await fetch(`${url}/list-apps`)).json()) as string[];
    {
      await using both = await launchMesh({
        services: [...named('weather_agent'), ...named('stock_agent')],
        model: 'scripted',
        dataDir,
      });
      expect(await appsOf(both.gatewayUrl)).toEqual(['stock_app', 'weather_app']);
    }
    const words: string[] = [];
    {
      const say = (text: string) => void words.push(text);
      await using mesh = await launchMesh({
        services: named('stock_agent'),
        model: 'scripted',
        dataDir,
        restarts: true,
        say,
      });
      expect(await appsOf(mesh.gatewayUrl)).toEqual(['stock_app']);
      for (const file of ['place.json', 'nats/nats-server.conf', 'redis/redis.conf'])
        expect(statSync(join(dataDir, file)).mode & 0o77, file).toBe(0);
      for (const folder of ['', 'nats', 'redis'])
        expect(statSync(join(dataDir, folder)).mode & 0o777, folder).toBe(0o700);
      const [stock] = mesh.processes;
      process.kill(stock?.pid ?? -1, 'SIGKILL');
      await until(() => words.includes('stock_agent runs again'), { what: 'the agent', timeoutMs: 20_000 });
      const redis = new Redis(mesh.redisUrl);
      redis.on('error', () => {});
      const [, pid = ''] = /process_id:(\d+)/.exec(await redis.info('server')) ?? [];
      process.kill(Number(pid), 'SIGKILL');
      await until(() => words.includes('redis-server runs again'), { what: 'Redis', timeoutMs: 20_000 });
      expect(await redis.ping()).toBe('PONG');
      redis.disconnect();
      const open = new Redis(mesh.redisUrl.replace(/\/\/.*@/, '//'), { lazyConnect: true });
      open.on('error', () => {});
      await expect(open.ping()).rejects.toThrow('NOAUTH');
      open.disconnect();
    }
    expect(words).toContainEqual(expect.stringMatching(/^redis-server \(pid \d+\) ended: SIGKILL; /));
    rmSync(dataDir, { recursive: true });
  });

  it('reports a wrong setting before it starts anything', async () => {
    const start = (variable: string, value: string) =>
      promisify(execFile)(process.execPath, ['deploy/local/demo.ts'], {
        cwd: root,
        env: { ...process.env, [variable]: value },
      });
    await expect(start('NATS_URL', 'http//nonsense')).rejects.toMatchObject({
      stderr: expect.stringContaining('NATS_URL must look like nats://host:4222'),
    });
    await expect(start('MESH_LOG_LEVEL', 'loud')).rejects.toMatchObject({
      stderr: expect.stringContaining('MESH_LOG_LEVEL must be one of'),
    });
    await expect(start('MESH_HEALTH_PORT', '8081')).rejects.toMatchObject({
      stderr: expect.stringContaining('MESH_HEALTH_PORT must be 0 here'),
    });
    await expect(start('MESH_MODEL', 'gpt')).rejects.toMatchObject({
      stderr: expect.stringContaining('MESH_MODEL must be one of scripted; it is "gpt"'),
    });
  });

  it('serves with logs as text', async () => {
    const env = { MESH_LOG_LEVEL: 'error', MESH_LOG_FORMAT: 'text' };
    const services = samples.filter(({ manifest }) => manifest.name === 'get_weather');
    await using mesh = await launchMesh({ services, env });
    expect((await fetch(`${mesh.gatewayUrl}/health`)).status).toBe(200);
  });

  it('does not start a second mesh on the same data', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'agentmesh-lock-'));
    {
      await using _first = await lockFolder(folder);
      await expect(lockFolder(folder)).rejects.toThrow(/already runs/);
    }
    await using _next = await lockFolder(folder);
    rmSync(folder, { recursive: true });
  });

  it('refuses an unknown setting', async () => {
    const env = { ...process.env, MESH_HTTP_PROT: '1' };
    const started = promisify(execFile)(process.execPath, ['deploy/local/demo.ts'], { cwd: root, env });
    await expect(started).rejects.toMatchObject({
      stderr: expect.stringContaining('MESH_HTTP_PROT is not a setting'),
    });
  });
});

describe('docs/examples/one-process.ts', () => {
  it('runs without any server', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['docs/examples/one-process.ts'], {
      cwd: root,
    });
    expect(stdout).toBe('dice_agent: The dice say 1.\n');
  });
});
