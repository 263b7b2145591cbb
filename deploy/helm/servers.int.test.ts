import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { provision } from '@agentmesh/bus';
import { deployedServices, renderHelm } from '@agentmesh/cli/render';
import { connectRedisStore, provisionRedis } from '@agentmesh/store';
import { findBinary, freePort, until } from '@agentmesh/testing';
import { connect } from '@nats-io/transport-node';
import type { IContainer } from 'kubernetes-models/v1/Container';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { canRunHelm, runHelm } from '../checks/programs.ts';
import { restrictedProblems } from '../checks/restricted.ts';
import { problemsOf } from '../checks/schema.ts';

/** The fields of a manifest that these tests look at. */
interface Manifest {
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  // The schemas check the rest.
  // biome-ignore lint/suspicious/noExplicitAny: a tree of any form
  spec?: any;
  data?: Record<string, string>;
}

const chart = join(import.meta.dirname, 'agentmesh');
const of = (kind: 'agent' | 'tool', name: string, calls: string[] = []) => ({
  manifest: { kind, name, transfers: [], asks: [], calls, ...(kind === 'agent' && { app: name }) },
  program: `${kind}s/${name}/main.ts`,
});
const services = deployedServices([of('agent', 'help_desk', ['get_rate']), of('tool', 'get_rate')], 'shop');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentmesh-servers-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Renders the chart with the values of `agentmesh render helm`, the servers among them. */
function render(namespace: string, ...args: string[]): Manifest[] {
  const { files } = renderHelm({ project: 'shop', namespace, services });
  const paths = ['helm/values.yaml', 'helm/servers.yaml'].map((file) => {
    const path = join(folder, file.replace('/', '-'));
    writeFileSync(path, files[file] ?? '');
    return `--values=${path}`;
  });
  const text = runHelm(['template', 'shop', chart, '--namespace', 'prod', ...paths, ...args]);
  return parseAllDocuments(text).flatMap((document) => {
    expect(document.errors).toEqual([]);
    return (document.toJS() as Manifest | null) ?? [];
  });
}

const find = (manifests: readonly Manifest[], kind: string, name: string) => {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name);
  if (!found) throw new Error(`no ${kind} ${name}`);
  return found;
};
const containerOf = ({ spec }: Manifest): IContainer => spec.template.spec.containers[0];

/** Returns the environment of a container, with the values of the Secrets of the release, as Kubernetes makes it. */
function environmentOf(manifests: readonly Manifest[], container: IContainer): Record<string, string> {
  const env: Record<string, string> = {};
  for (const { name, value, valueFrom } of container.env ?? []) {
    const { name: secret = '', key = '', optional } = valueFrom?.secretKeyRef ?? {};
    if (secret === 'model') continue;
    if (valueFrom?.resourceFieldRef) {
      const [, gibibytes = ''] = /^(\d+)Gi$/.exec(String(container.resources?.limits?.memory)) ?? [];
      // The manifests ask for the number of MiB.
      env[name] = String(Number(gibibytes) * 1024);
      continue;
    }
    if (!secret) env[name] = (value ?? '').replace(/\$\((\w+)\)/g, (_, other: string) => env[other] ?? '');
    else if (!optional)
      env[name] = Buffer.from(find(manifests, 'Secret', secret).data?.[key] ?? '', 'base64').toString();
  }
  return env;
}

/** Starts the container of a StatefulSet as a process of this machine, with the files of its ConfigMap. */
async function start(manifests: readonly Manifest[], name: 'nats' | 'redis'): Promise<string> {
  const place = join(folder, `${name}-${await freePort()}`);
  for (const part of ['etc', 'data', 'users']) mkdirSync(join(place, part), { recursive: true });
  for (const [file, text] of Object.entries(find(manifests, 'ConfigMap', name).data ?? {}))
    writeFileSync(join(place, 'etc', file), text);
  const container = containerOf(find(manifests, 'StatefulSet', name));
  const port = await freePort();
  const words = [...(container.command ?? []), ...(container.args ?? []), '--port', String(port)].map(
    (word) =>
      word
        .replace(`/etc/${name}`, join(place, 'etc'))
        .replace('/run/users', join(place, 'users'))
        .replace(/^\/data$/, join(place, 'data')),
  );
  const monitor = String(await freePort());
  const [command = '', ...args] = words.map((word) => (word === '8222' ? monitor : word));
  const program = findBinary(`${name}-server`) ?? '';
  const child = spawn(command === 'sh' ? command : program, args, {
    env: { PATH: `${dirname(program)}:${process.env.PATH}`, ...environmentOf(manifests, container) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  onTestFinished(async () => {
    if (child.exitCode === null && child.kill()) await once(child, 'exit');
  });
  await until(() => /Server is ready|Ready to accept/.test(output), { what: `${name}: ${output}` });
  return `127.0.0.1:${port}`;
}

const canRun = canRunHelm && findBinary('nats-server') && findBinary('redis-server');

describe.runIf(canRun)('NATS and Redis as parts of the release', () => {
  it.each(['mesh', 'blue'])(
    'start as they are rendered, are provisioned, and admit each service of the namespace %s with its Secret',
    async (namespace) => {
      const manifests = render(namespace);
      const nats = await start(manifests, 'nats');
      const redis = await start(manifests, 'redis');
      const deployed = manifests.filter(({ kind }) => ['Deployment', 'Job'].includes(kind));
      expect(deployed.map(({ metadata }) => metadata.name).sort()).toEqual(
        ['gateway', 'get-rate-tool', 'help-desk', 'provision-1'].sort(),
      );
      const logins = deployed.map((manifest) => {
        const env = environmentOf(manifests, containerOf(manifest));
        const { MESH_NATS_USER: user = '', MESH_NATS_PASSWORD: pass = '', REDIS_URL = '' } = env;
        return { user, pass, redisUrl: REDIS_URL.replace('redis:6379', redis), name: manifest.metadata.name };
      });
      const admin = logins.find(({ name }) => name === 'provision-1');
      const { user = '', pass = '', redisUrl = '' } = admin ?? {};
      await provision({ url: nats, user, pass, namespace, agents: ['help_desk'], tools: [] });
      await provisionRedis({ url: redisUrl });
      for (const login of logins) {
        const connection = await connect({
          servers: nats,
          user: login.user,
          pass: login.pass,
          reconnect: false,
        });
        await connection.close();
        await (await connectRedisStore({ url: login.redisUrl }))[Symbol.asyncDispose]();
      }
      await expect(connect({ servers: nats, user, pass: 'wrong', reconnect: false })).rejects.toThrow();
    },
    60_000,
  );

  it('are objects that Kubernetes knows, in the restricted standard, and keep their data and passwords', () => {
    const manifests = render('mesh');
    expect(manifests.flatMap(problemsOf)).toEqual([]);
    for (const name of ['nats', 'redis']) {
      const { spec } = find(manifests, 'StatefulSet', name);
      expect(restrictedProblems(spec.template.spec)).toEqual([]);
      expect(spec.volumeClaimTemplates[0].spec.resources.requests.storage).toBe('10Gi');
      // The policies of the services do not fit the servers, and theirs let services in.
      const { 'app.kubernetes.io/part-of': part } = spec.template.metadata.labels;
      expect(part).toBe('agentmesh-servers');
      const [rule] = find(manifests, 'NetworkPolicy', name).spec.ingress;
      expect(rule.from).toEqual([
        { podSelector: { matchLabels: { 'app.kubernetes.io/part-of': 'agentmesh' } } },
      ]);
    }
    const secrets = manifests.filter(({ kind }) => kind === 'Secret');
    expect(secrets.map(({ metadata }) => metadata.name).sort()).toEqual([
      ...['nats-agent-help-desk', 'nats-client', 'nats-gateway', 'nats-provision', 'nats-tool-get-rate'],
      ...['redis-agent-help-desk', 'redis-gateway', 'redis-provision', 'redis-tool-get-rate'],
    ]);
    expect(new Set(secrets.map(({ data }) => data?.password)).size).toBe(secrets.length);
    for (const { metadata } of secrets)
      expect(metadata.annotations?.['helm.sh/resource-policy']).toBe('keep');
  });

  it('have NATS collect less garbage, within the memory that it may have', () => {
    const { env } = containerOf(find(render('mesh'), 'StatefulSet', 'nats'));
    expect(env).toContainEqual({ name: 'GOGC', value: '400' });
    const resourceFieldRef = { resource: 'limits.memory', divisor: '1Mi' };
    expect(env).toContainEqual({ name: 'MEMORY_MIB', valueFrom: { resourceFieldRef } });
    expect(env).toContainEqual({ name: 'GOMEMLIMIT', value: '$(MEMORY_MIB)000000' });
  });

  it('are found by services, by the autoscaler in another namespace, and by the step that provisions them', () => {
    const manifests = render('mesh');
    expect(find(manifests, 'ConfigMap', 'mesh').data?.NATS_URL).toBe('nats://nats:4222');
    const [trigger] = find(manifests, 'ScaledObject', 'help-desk').spec.triggers;
    expect(trigger.metadata.natsServerMonitoringEndpoint).toBe('nats.prod.svc.cluster.local:8222');
    const job = find(manifests, 'Job', 'provision-1');
    expect(job.metadata.annotations).toBeUndefined();
    expect(containerOf(job).env).toContainEqual({ name: 'MESH_STREAM_REPLICAS', value: '1' });
  });

  it.each([
    [['--set', 'provision.streamReplicas=3'], /nats-server is one server: set provision.streamReplicas to 1/],
    [['--set', 'nats-server.config='], /nats-server.config is empty/],
    [['--set', 'redis-server.users='], /redis-server.users is empty/],
    [['--set', 'nats-server.enabled=false'], /the NATS that you run has its own/],
    [['--set', 'redis-server.enabled=false'], /the Redis that you run has its own/],
    [['--set', 'nats.login=creds'], /set nats.login to password/],
    [['--set', 'nats-server.replicas=3'], /additional properties 'replicas' not allowed/],
  ])('refuse %j', (args, message) => {
    expect(() => render('mesh', ...args)).toThrow(message);
  });
});
