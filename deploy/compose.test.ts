import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderCompose, deployedServices as rendered } from '@agentmesh/cli/render';
import type { ServiceManifest } from '@agentmesh/mesh';
import { describe, expect, it } from 'vitest';
import { deployFolder, readManifests, readYaml } from './checks/manifests.ts';
import { deployedServices, knownVariables } from './checks/services.ts';

interface ComposeService {
  image: string;
  build?: { context: string; dockerfile: string; args: { SERVICE: string } };
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  stop_grace_period?: string;
  read_only?: boolean;
  networks?: string[];
}

const [compose] = readYaml(join(deployFolder, 'compose.yaml'), true) as [
  { services: Record<string, ComposeService> },
];
const infrastructure = ['nats', 'redis', 'provision'];

function service(name: string): ComposeService {
  const found = compose.services[name];
  if (!found) throw new Error(`compose has no service ${name}`);
  return found;
}

describe('compose.yaml', () => {
  it('keeps the gateway apart from agents and tools: they share servers, and no network', () => {
    const networks = (name: string) => service(name).networks ?? ['default'];
    const others = Object.keys(compose.services).filter(
      (name) => !['gateway', 'nats', 'redis'].includes(name),
    );
    expect(new Set(others.flatMap(networks))).toEqual(new Set(['services']));
    expect(networks('gateway')).toEqual(['gateway']);
    for (const server of ['nats', 'redis']) expect(networks(server)).toEqual(['gateway', 'services']);
  });

  it('has all services', () => {
    const own = Object.keys(compose.services).filter((name) => !infrastructure.includes(name));
    expect(own.sort()).toEqual(deployedServices.map(({ name }) => name).sort());
  });

  it.each(deployedServices)('builds and configures $name as Kubernetes does', ({ name, folder, user }) => {
    const { image, build, environment = {}, healthcheck, depends_on } = service(name);
    expect(image.split(':')[0]).toBe(`agentmesh/${name}`);
    expect(build).toEqual({ context: '..', dockerfile: 'deploy/Dockerfile', args: { SERVICE: folder } });
    expect(environment.MESH_NATS_USER).toBe(user);
    expect(environment.MESH_NATS_PASSWORD).toContain(`\${NATS_PASSWORD_${user.toUpperCase()}:?`);
    expect(environment.REDIS_URL).toMatch(`redis://${user}:\${REDIS_PASSWORD_${user.toUpperCase()}:?`);
    if (name === 'keeper') expect(environment.CREDENTIAL_KEYS).toContain(`\${CREDENTIAL_KEYS:?`);
    else expect(environment).not.toHaveProperty('CREDENTIAL_KEYS');
    expect(healthcheck?.test.join(' ')).toContain(`:${environment.MESH_HEALTH_PORT}/readyz`);
    expect(depends_on).toEqual({
      nats: { condition: 'service_healthy' },
      redis: { condition: 'service_healthy' },
      provision: { condition: 'service_completed_successfully' },
    });
  });

  it.each(deployedServices)('gives $name only variables that it knows, and time to stop', ({ name }) => {
    const { environment = {}, stop_grace_period = '' } = service(name);
    const known = knownVariables(name);
    const set = Object.keys(environment).filter((variable) => variable.startsWith('MESH_'));
    expect(set.filter((variable) => !known.includes(variable))).toEqual([]);
    expect(Number.parseInt(stop_grace_period, 10) * 1000).toBeGreaterThan(
      Number(environment.MESH_GRACE_MS) + 2_000,
    );
  });

  it('has NATS collect less garbage, and gives it the password of each user', () => {
    const { GOGC, ...passwords } = service('nats').environment ?? {};
    expect(GOGC).toBe('400');
    const given = Object.keys(passwords).sort();
    const users = [...deployedServices.map(({ user }) => user), 'provision', 'client'];
    expect(given).toEqual(users.map((user) => `NATS_PASSWORD_${user.toUpperCase()}`).sort());
  });

  it('gives Redis the password of each user', () => {
    const given = Object.keys(service('redis').environment ?? {}).filter((name) => name !== 'REDISCLI_AUTH');
    const users = [...deployedServices.map(({ user }) => user), 'provision'];
    expect(given.sort()).toEqual(users.map((user) => `REDIS_PASSWORD_${user.toUpperCase()}`).sort());
  });

  it('gives the key of the models only to agents', () => {
    const holders = Object.keys(compose.services).filter((name) => service(name).environment?.GEMINI_API_KEY);
    expect(holders.sort()).toEqual(
      deployedServices
        .filter(({ agent }) => agent)
        .map(({ name }) => name)
        .sort(),
    );
  });

  it('needs only variables that the README names', () => {
    const text = readFileSync(join(deployFolder, 'compose.yaml'), 'utf8');
    const required = new Set([...text.matchAll(/\$\{([A-Z_]+):\?/g)].map(([, name]) => name ?? ''));
    const readme = readFileSync(join(deployFolder, 'README.md'), 'utf8');
    expect([...required].filter((name) => !readme.includes(name))).toEqual([]);
  });
});

describe('the Compose file of a project', () => {
  const service = (kind: 'agent' | 'tool', name: string, more: Partial<ServiceManifest> = {}) => ({
    manifest: { kind, name, transfers: [], asks: [], calls: [], ...more },
    program: `${kind}s/${name}/main.ts`,
  });
  const programs = [
    service('agent', 'desk', { calls: ['pay'] }),
    service('tool', 'pay', { longRunning: true }),
  ];
  const services = rendered(programs, 'shop');
  const { files } = renderCompose({ project: 'shop', namespace: 'blue', services });

  it('has services that wait for the servers, and gives agents alone the key of models', () => {
    const [made] = readManifests(files['compose.yaml'] ?? '', 'compose.yaml', true) as [typeof compose];
    const own = Object.keys(made.services).filter((name) => !infrastructure.includes(name));
    expect(own).toEqual(services.map(({ name }) => name));
    for (const name of own)
      expect(Object.keys(made.services[name]?.depends_on ?? {}).sort()).toEqual([
        'nats',
        'provision',
        'redis',
      ]);
    expect(own.filter((name) => made.services[name]?.environment?.GEMINI_API_KEY)).toEqual(['desk']);
    expect(made.services.desk?.environment).toMatchObject({
      MESH_NAMESPACE: 'blue',
      MESH_NATS_USER: 'blue:agent_desk',
    });
  });
});
