import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeContextFile } from './context-file.ts';
import { findMesh } from './find-mesh.ts';
import { surroundingsOf } from './surroundings.ts';

describe('a command finds its mesh', () => {
  let project: string;
  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'agentmesh-context-'));
    await writeContextFile(join(project, '.agentmesh/context.json'), {
      variables: { NATS_URL: 'nats://project:1' },
    });
    await writeContextFile(join(project, '.agentmesh/contexts/staging.json'), {
      variables: { NATS_URL: 'nats://staging:1' },
    });
    await mkdir(join(project, 'agents/one'), { recursive: true });
  });
  afterAll(() => rm(project, { recursive: true }));

  const place = (env: NodeJS.ProcessEnv = {}) => ({ env, cwd: join(project, 'agents/one') });
  const natsOf = (env: NodeJS.ProcessEnv, context?: string) => findMesh(place(env), context).env.NATS_URL;

  it('by --context, else by the environment, else by the file of the project', () => {
    const env = { NATS_URL: 'nats://env:1' };
    expect(natsOf(env, 'staging')).toBe('nats://staging:1');
    expect(natsOf(env)).toBe('nats://env:1');
    expect(natsOf({})).toBe('nats://project:1');
    expect(findMesh({ env: {}, cwd: tmpdir() }).source).toBe('the defaults');
  });

  it('never uses the password of another mesh', () => {
    const env = { MESH_NATS_PASSWORD: 'other', REDIS_URL: 'redis://other:1', MESH_NAMESPACE: 'blue' };
    const found = findMesh(place(env), join(project, '.agentmesh/context.json')).env;
    expect(found).toEqual({ NATS_URL: 'nats://project:1', MESH_NAMESPACE: 'blue' });
  });

  it('writes files that only their owner may read', async () => {
    const file = join(project, '.agentmesh/context.json');
    await chmod(file, 0o644);
    await writeContextFile(file, {
      variables: { NATS_URL: 'nats://project:1' },
    });
    expect(((await stat(file)).mode & 0o777).toString(8)).toBe('600');
  });

  it.each([
    ['not JSON', 'is not JSON'],
    ['{"variables":{"NATS_URLS":"x"}}', 'NATS_URLS, which is not known; did you mean NATS_URL?'],
    ['{"natsUrl":"x"}', 'variables'],
  ])('refuses the file %s', async (text, message) => {
    const file = join(project, 'wrong.json');
    await writeFile(file, text);
    expect(() => findMesh(place(), file)).toThrow(message);
  });

  it('refuses a context that does not exist, with the places where it was looked for', () => {
    expect(() => findMesh(place(), 'prod')).toThrow(join(project, '.agentmesh/contexts/prod.json'));
    expect(() => findMesh(place(), './prod.json')).toThrow('there is no context file');
  });

  it('takes the gateway from its variable, else from the port, else the usual one', () => {
    const urlOf = (env: NodeJS.ProcessEnv) => {
      const options = { env, cwd: tmpdir(), signal: new AbortController().signal, output: () => {} };
      using around = surroundingsOf(options);
      return around.gatewayUrl;
    };
    expect(urlOf({ MESH_GATEWAY_URL: 'https://mesh.example/' })).toBe('https://mesh.example');
    expect(urlOf({ MESH_HTTP_PORT: '9000' })).toBe('http://127.0.0.1:9000');
    expect(urlOf({})).toBe('http://127.0.0.1:8000');
    expect(() => urlOf({ MESH_GATEWAY_URL: 'mesh:8000' })).toThrow('MESH_GATEWAY_URL must be an address');
  });
});
