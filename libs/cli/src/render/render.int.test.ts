import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { natsPasswordVariable, redisPasswordVariable } from '@agentmesh/mesh';
import { connectRedisStore } from '@agentmesh/store';
import { findBinary, freePort, until } from '@agentmesh/testing';
import { startNats } from '@agentmesh/testing/servers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { jsonOf, linesOf } from '../commands.fixture.ts';
import { makeProject, type Project } from '../project.fixture.ts';

let project: Project;
let place: { env: NodeJS.ProcessEnv; cwd: string };
beforeAll(async () => {
  project = await makeProject();
  place = { env: { PATH: process.env.PATH }, cwd: project.root };
});
afterAll(() => project[Symbol.asyncDispose]());

const read = (file: string) => readFileSync(join(project.root, file), 'utf8');
const users = ['provision', 'gateway', 'agent_helper', 'tool_get_time'];

/** Starts Redis by the rendered script. */
async function startRedisByScript(): Promise<number> {
  const port = await freePort();
  const folder = join(project.root, 'redis-data');
  mkdirSync(folder);
  const passwords = users.map((user) => [redisPasswordVariable(user), `secret-${user}`]);
  const files = ['deploy/redis/start.sh', 'deploy/redis/users.acl'];
  const args = [...files, folder, '--port', String(port), '--save', '', '--dir', folder];
  const child = spawn('sh', args, {
    cwd: project.root,
    env: {
      PATH: `${dirname(findBinary('redis-server') ?? '/')}:${process.env.PATH}`,
      ...Object.fromEntries(passwords),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  onTestFinished(async () => {
    if (child.exitCode === null && child.kill()) await once(child, 'exit');
  });
  await until(() => output.includes('Ready to accept'), { what: 'Redis to start' });
  return port;
}

describe('agentmesh render', () => {
  it('writes configurations of NATS and Redis on which a project is provisioned, and its users log in', async () => {
    expect(await linesOf(place, ['render', 'nats'])).toContain('wrote deploy/nats/nats-server.conf');
    await linesOf(place, ['render', 'redis']);
    await linesOf(place, ['render', 'compose']);
    expect(statSync(join(project.root, 'deploy/redis/start.sh')).mode & 0o111).not.toBe(0);
    const configuration = read('deploy/nats/nats-server.conf').replace(/\$(NATS_PASSWORD_\w+)/g, '"$1"');
    await using nats = await startNats({ configuration });
    const port = await startRedisByScript();
    const redisOf = (user: string) => `redis://${user}:secret-${user}@127.0.0.1:${port}`;
    const env = {
      ...place.env,
      NATS_URL: nats.url,
      MESH_NATS_USER: 'provision',
      MESH_NATS_PASSWORD: natsPasswordVariable('provision'),
      REDIS_URL: redisOf('provision'),
    };
    // The step of the image.
    const definitions = join(project.root, 'deploy/definitions.json');
    expect(await linesOf({ ...place, env }, ['provision', definitions])).toEqual([
      'provisioned: agent helper, tool get_time',
    ]);
    for (const user of users.slice(1))
      await (await connectRedisStore({ url: redisOf(user) }))[Symbol.asyncDispose]();
  });

  it('writes a Compose file with every service, instead of an earlier one', async () => {
    const [compose] = (await jsonOf(place, ['render', 'compose'])) as [{ files: string[] }];
    expect(compose.files).toEqual(
      expect.arrayContaining(['deploy/compose.yaml', 'deploy/Dockerfile', 'deploy/env.example']),
    );
    for (const name of ['gateway', 'helper', 'get-time-tool'])
      expect(read('deploy/compose.yaml')).toMatch(new RegExp(`^ {2}${name}:$`, 'm'));
    expect(read('deploy/compose.yaml')).toContain('command: ["agents/helper/main.ts"]');
    await linesOf({ ...place, env: { ...place.env, MESH_NAMESPACE: 'blue' } }, ['render', 'compose']);
    expect(read('deploy/nats/nats-server.conf')).toMatch(/^ *"BLUE": \{/m);
    expect(read('deploy/compose.yaml')).toContain('MESH_NAMESPACE: blue');
    const required = [...read('deploy/compose.yaml').matchAll(/\$\{([A-Z_]+):\?/g)].map(([, name]) => name);
    const example = read('deploy/env.example').match(/^[A-Z_]+(?==)/gm) ?? [];
    expect([...new Set(required)].sort()).toEqual([...example].sort());
  });

  it('writes values of the chart with every service, and what it needs beside them', async () => {
    const [{ files, next }] = (await jsonOf(place, ['render', 'helm'])) as [
      { files: string[]; next: string[] },
    ];
    expect(files).toEqual(
      expect.arrayContaining(['deploy/helm/values.yaml', 'deploy/nats/nats-server.conf']),
    );
    expect(next.join()).toContain('helm install');
    const values = parse(read('deploy/helm/values.yaml'));
    expect(values.keeper).toEqual({ enabled: false });
    expect(values.agents).toEqual([{ name: 'helper', args: ['agents/helper/main.ts'], minReplicas: 1 }]);
    expect(values.tools).toEqual([{ name: 'get_time', args: ['tools/get_time/main.ts'] }]);
  });

  it('gives a tool in Python an image of its own, a login to NATS and nothing else', async () => {
    await linesOf(place, ['add', 'tool', 'count_words', '--python']);
    onTestFinished(() => rm(join(project.root, 'tools/count_words'), { recursive: true }));
    await linesOf(place, ['render', 'compose']);
    const { services } = parse(read('deploy/compose.yaml'), { merge: true });
    const tool = services['count-words-tool'];
    expect(tool.image).toMatch(/-python:/);
    expect(tool.command).toEqual(['tools/count_words/tool.py']);
    expect(Object.keys(tool.environment)).toEqual([
      'NATS_URL',
      'MESH_NAMESPACE',
      'MESH_NATS_USER',
      'MESH_NATS_PASSWORD',
    ]);
    expect(read('deploy/Dockerfile.python')).toContain('ENTRYPOINT ["python3"]');
    expect(read('deploy/redis/users.acl')).not.toContain('count_words');
    expect(read('deploy/env.example')).not.toContain('REDIS_PASSWORD_TOOL_COUNT_WORDS');
    const [{ next }] = (await jsonOf(place, ['render', 'helm'])) as [{ next: string[] }];
    expect(next.join()).toContain('-f deploy/Dockerfile.python');
  });

  it('leaves a file alone that a person wrote', async () => {
    const file = join(project.root, 'deploy/compose.yaml');
    const before = read('deploy/compose.yaml');
    writeFileSync(file, 'name: mine\n');
    onTestFinished(() => writeFileSync(file, before));
    await expect(linesOf(place, ['render', 'compose'])).rejects.toThrow(
      'was not written by agentmesh render',
    );
    expect(read('deploy/compose.yaml')).toBe('name: mine\n');
  });

  it('refuses by name what it does not support', async () => {
    const folder = join(project.root, 'tools/count');
    await mkdir(folder);
    await writeFile(join(folder, 'tool.go'), 'package main\n');
    onTestFinished(() => rm(folder, { recursive: true }));
    await expect(linesOf(place, ['render', 'nats'])).rejects.toThrow(
      'tools/count/tool.go cannot be rendered',
    );
    const spaced = { ...place, env: { ...place.env, MESH_NAMESPACE: 'No Space' } };
    await rm(join(folder, 'tool.go'));
    await expect(linesOf(spaced, ['render', 'nats'])).rejects.toThrow('MESH_NAMESPACE must be');
    await expect(linesOf({ ...place, cwd: folder }, ['render', 'nats'])).rejects.toThrow(
      'has no package.json',
    );
  });
});
