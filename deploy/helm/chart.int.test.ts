import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployedServices, helmValues } from '@agentmesh/cli/render';
import { subjects } from '@agentmesh/protocol';
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readManifests } from '../checks/manifests.ts';
import { canRunHelm, runHelm } from '../checks/programs.ts';
import { restrictedProblems } from '../checks/restricted.ts';
import { problemsOf } from '../checks/schema.ts';
import { sampleValues } from '../generated.ts';
import { readExpression } from '../monitoring/promql.ts';

/** The fields of a manifest that these tests look at. */
interface Manifest {
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  // The schemas check the rest.
  // biome-ignore lint/suspicious/noExplicitAny: a tree of any form
  spec?: any;
  data?: Record<string, string>;
  automountServiceAccountToken?: boolean;
}

const chart = join(import.meta.dirname, 'agentmesh');
if (!canRunHelm)
  console.warn('helm is tested on Linux on x64 alone, because its package has no other program');

/** Renders the chart with values in YAML. */
function render(values: string, ...args: string[]): Manifest[] {
  const command = ['template', 'shop', chart, '--namespace', 'blue', '--values', '-', ...args];
  return readManifests(runHelm(command, values), 'the chart') as Manifest[];
}

const find = (manifests: readonly Manifest[], kind: string, name: string) =>
  manifests.find((each) => each.kind === kind && each.metadata.name === name);
const podOf = (manifests: readonly Manifest[], name: string): IPodSpec =>
  find(manifests, name === 'provision' ? 'Job' : 'Deployment', name)?.spec.template.spec;
const podsIn = (manifests: readonly Manifest[]) =>
  manifests.filter(({ kind }) => ['Deployment', 'Job'].includes(kind));

const all = `image: { repository: shop, digest: "sha256:${'ab'.repeat(32)}", registry: "registry.corp:5000" }
imagePullSecrets: [{ name: pull }]
nats: { login: creds }
ca: { configMap: corporate }
mesh: { namespace: blue, env: { MESH_TRACES: otlp } }
pod: { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule }] }
gateway: { image: { tag: "2" }, auth: "keys,oidc", env: { MESH_OIDC_ISSUER: "https://issuer" } }
agents:
  - { name: desk_agent, minReplicas: 0, maxReplicas: 3, env: { A: "1" } }
  - { name: clerk, minReplicas: 2, pod: { nodeSelector: { disk: ssd }, resources: { limits: { memory: 1Gi } } } }
tools:
  - { name: get_rate, secretEnv: [{ name: KEY, secret: rates, key: key }] }
  - { name: count, python: true, args: [tools/count/tool.py] }
  - { name: report, longRunning: true, replicas: 1, maxReplicas: 9 }
autoscaling: { prometheus: "http://prometheus:9090" }
networkPolicy: { nats: { to: [{ namespaceSelector: { matchLabels: { name: nats } } }], ports: [4222] } }
monitoring: { podMonitor: { enabled: true }, rules: { enabled: true, labels: { release: p } }, dashboards: { enabled: true } }
`;

describe.runIf(canRunHelm)('the chart', () => {
  it('passes the lint of helm', () => {
    expect(runHelm(['lint', '--strict', chart, '--values', '-'], all)).toContain('0 chart(s) failed');
  });

  it('has the version of the release', () => {
    const { version } = JSON.parse(readFileSync(join(chart, '../../../package.json'), 'utf8'));
    expect(parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))).toMatchObject({
      version,
      appVersion: version,
    });
  });

  it.each([
    ['the samples', sampleValues()],
    ['all options', all],
    ['no services', 'image: { repository: shop, tag: "1" }\nkeeper: { enabled: false }\n'],
  ])(
    'renders %s as objects that Kubernetes, KEDA and Prometheus know, in the restricted standard',
    (_, values) => {
      const manifests = render(values);
      expect(manifests.length).toBeGreaterThan(8);
      const problems = manifests.flatMap((each) =>
        problemsOf(each).map((problem) => `${each.kind} ${each.metadata.name}: ${problem}`),
      );
      expect(problems).toEqual([]);
      for (const { metadata, spec } of podsIn(manifests))
        expect(restrictedProblems(spec.template.spec), metadata.name).toEqual([]);
      const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    },
  );

  it('gives each service a ServiceAccount of its own, without a token and without rights', () => {
    const manifests = render(all);
    for (const { metadata, spec } of podsIn(manifests)) {
      expect(spec.template.spec.serviceAccountName).toBe(metadata.name);
      expect(spec.template.spec.automountServiceAccountToken).toBe(false);
      expect(find(manifests, 'ServiceAccount', metadata.name)?.automountServiceAccountToken).toBe(false);
    }
    expect(manifests.filter(({ kind }) => /Role/.test(kind))).toEqual([]);
  });

  it('takes images by digest from a registry, and a version that a service names itself', () => {
    const manifests = render(all);
    const imageOf = (name: string) => podOf(manifests, name).containers[0]?.image;
    expect(imageOf('desk-agent')).toBe(`registry.corp:5000/shop@sha256:${'ab'.repeat(32)}`);
    expect(imageOf('gateway')).toBe('registry.corp:5000/shop:2');
    for (const { spec } of podsIn(manifests))
      expect(spec.template.spec.imagePullSecrets).toEqual([{ name: 'pull' }]);
  });

  it('mounts the credentials of the own user, and the certificates of the own authority', () => {
    const manifests = render(all);
    for (const [name, user] of [
      ['desk-agent', 'agent-desk-agent'],
      ['count-tool', 'tool-count'],
      ['gateway', 'gateway'],
      ['provision', 'provision'],
    ] as const) {
      const { containers, volumes } = podOf(manifests, name);
      const env = Object.fromEntries((containers[0]?.env ?? []).map((each) => [each.name, each.value]));
      expect(env, name).toMatchObject({
        MESH_NATS_CREDS: '/etc/agentmesh/nats/creds',
        NODE_EXTRA_CA_CERTS: '/etc/agentmesh/ca/ca.crt',
      });
      expect(env, name).not.toHaveProperty('MESH_NATS_PASSWORD');
      expect(volumes?.[0]?.secret?.secretName).toBe(`nats-${user}`);
      expect(volumes?.[1]?.configMap?.name).toBe('corporate');
      expect(containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual([
        '/etc/agentmesh/nats',
        '/etc/agentmesh/ca',
      ]);
    }
  });

  it('provisions before each installation and upgrade, with all variables in the Job', () => {
    const manifests = render(all);
    for (const kind of ['Job', 'ServiceAccount'])
      expect(find(manifests, kind, 'provision')?.metadata.annotations).toMatchObject({
        'helm.sh/hook': 'pre-install,pre-upgrade',
      });
    const { envFrom, env = [] } = podOf(manifests, 'provision').containers[0] ?? {};
    expect(envFrom).toBeUndefined();
    expect(env).toContainEqual({ name: 'MESH_NAMESPACE', value: 'blue' });
    expect(env).toContainEqual({ name: 'MESH_REDIS_PREFIX', value: 'am-blue' });
  });

  it('scales agents and long-running tools by depth and age of their queues, and keeps one of several replicas', () => {
    const manifests = render(all);
    const scaled = find(manifests, 'ScaledObject', 'report-tool')?.spec;
    expect([scaled.minReplicaCount, scaled.maxReplicaCount]).toEqual([1, 9]);
    expect(scaled.triggers[0].metadata).toMatchObject({
      account: 'BLUE',
      stream: 'BLUE_JOB',
      consumer: 'report',
    });
    const { query } = scaled.triggers[1].metadata;
    const { metrics } = readExpression(query);
    expect(metrics.map(({ metric }) => metric)).toEqual([
      'agentmesh_queue_oldest_age',
      'agentmesh_queue_messages',
    ]);
    expect(metrics[1]?.values).toEqual([
      ['namespace', 'blue'],
      ['kind', 'job'],
      ['name', 'report'],
      ['state', 'waiting'],
    ]);
    expect(find(manifests, 'Deployment', 'report-tool')?.spec).not.toHaveProperty('replicas');
    const budgets = manifests
      .filter(({ kind }) => kind === 'PodDisruptionBudget')
      .map(({ metadata }) => metadata.name);
    // One replica with a budget of one would hold up the drain of its node.
    expect(budgets.sort()).toEqual(['clerk', 'count-tool', 'gateway', 'get-rate-tool', 'keeper']);
  });

  it('lets services reach NATS, Redis and DNS alone, agents and gateways also models and issuers', () => {
    const manifests = render(all);
    const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
    expect(policies.map(({ metadata }) => metadata.name)).toEqual(['mesh', 'gateway', 'web']);
    const everyone = find(manifests, 'NetworkPolicy', 'mesh')?.spec;
    for (const { spec } of podsIn(manifests))
      expect(spec.template.metadata.labels).toMatchObject(everyone.podSelector.matchLabels);
    expect(
      everyone.egress.map(({ ports }: { ports: { port: number }[] }) => ports.map(({ port }) => port)),
    ).toEqual([[53, 53], [4222], [6379, 26379]]);
    expect(everyone.egress[1].to).toEqual([{ namespaceSelector: { matchLabels: { name: 'nats' } } }]);
    expect(
      render(all, '--set', 'networkPolicy.enabled=false').some(({ kind }) => kind === 'NetworkPolicy'),
    ).toBe(false);
  });

  it('hands the alerts and the dashboards over as they are', () => {
    const manifests = render(all);
    const alerts = parse(readFileSync(join(chart, '../../monitoring/alerts.yaml'), 'utf8'));
    expect(find(manifests, 'PrometheusRule', 'agentmesh')?.spec).toEqual(alerts);
    const dashboard = find(manifests, 'ConfigMap', 'agentmesh-dashboard-mesh');
    expect(JSON.parse(dashboard?.data?.['mesh.json'] ?? '')).toMatchObject({ uid: 'agentmesh-mesh' });
  });

  it('puts the settings of one service over those of all', () => {
    const manifests = render(all);
    expect(podOf(manifests, 'clerk').nodeSelector).toEqual({ disk: 'ssd' });
    expect(podOf(manifests, 'clerk').containers[0]?.resources).toMatchObject({
      limits: { memory: '1Gi' },
      requests: { cpu: '100m' },
    });
    expect(podOf(manifests, 'desk-agent').nodeSelector).toBeUndefined();
    expect(podOf(manifests, 'desk-agent').topologySpreadConstraints?.map((each) => each.topologyKey)).toEqual(
      ['kubernetes.io/hostname', 'zone'],
    );
  });

  it('renders a project by the values of agentmesh render helm', () => {
    const program = (kind: 'agent' | 'tool', name: string, isPython = false) => ({
      manifest: { kind, name, transfers: [], asks: [], calls: [] },
      program: `${kind}s/${name}/main.ts`,
      isPython,
    });
    const services = deployedServices(
      [program('agent', 'desk'), program('tool', 'get_rate'), program('tool', 'count', true)],
      'shop',
    );
    const provision = { image: 'shop', args: ['provision'] };
    const values = helmValues({
      ...{ namespace: 'mesh', image: 'shop', provision, services },
      all: services.map(({ manifest }) => manifest),
    });
    const manifests = render(values);
    const names = podsIn(manifests).map(({ metadata }) => metadata.name);
    expect(names.sort()).toEqual(['count-tool', 'desk', 'gateway', 'get-rate-tool', 'provision']);
    expect(podOf(manifests, 'desk').containers[0]?.args).toEqual(['agents/desk/main.ts']);
    const [python] = podOf(manifests, 'count-tool').containers;
    expect(python).toMatchObject({
      image: 'shop-python:dev',
      securityContext: { readOnlyRootFilesystem: true },
    });
    // It uses NATS alone, and has no server that tells its health.
    expect(python?.env?.map(({ name }) => name)).not.toContain('REDIS_URL');
    expect(python?.livenessProbe).toBeUndefined();
  });

  it.each([
    ['image: { repositry: shop }', /at '\/image': additional properties 'repositry' not allowed/],
    ['agents: [{ minReplicas: 1 }]', /missing property 'name'/],
    ['gateway: { auth: none }', /at '\/gateway\/auth'/],
    ['image: { repository: shop, digest: "sha256:1" }', /at '\/image\/digest'/],
    ['nats: { login: token }', /at '\/nats\/login'/],
    ['mesh: { env: { MESH_METRICS: off } }', /at '\/mesh\/env\/MESH_METRICS': got boolean, want string/],
    ['image: { tag: "1" }', /has no image: set image.repository/],
    ['image: { repository: shop }', /has no version: set image.digest or image.tag/],
    [
      'image: { repository: shop, tag: "1" }\nagents: [{ name: a }, { name: a }]',
      /a is the name of another service/,
    ],
    [
      'image: { repository: shop, tag: "1" }\nagents: [{ name: keeper }]',
      /keeper is the name of another service/,
    ],
    [
      'image: { repository: shop, tag: "1" }\ntools: [{ name: a, maxReplicas: 3 }]',
      /only a long-running tool has a queue/,
    ],
  ])('refuses %j', (values, message) => {
    expect(() => render(values)).toThrow(message);
  });
});

it.each(['mesh', 'team_a', 'a-1', 'a'.repeat(32), 'a'.repeat(33), 'Team', 'a.b', ''])(
  'the chart takes the namespace %j if a mesh may have it',
  (namespace) => {
    const schema = JSON.parse(
      readFileSync(new URL('./agentmesh/values.schema.json', import.meta.url), 'utf8'),
    );
    const { pattern } = schema.properties.mesh.properties.namespace;
    let isAllowed = true;
    try {
      subjects(namespace);
    } catch {
      isAllowed = false;
    }
    expect(new RegExp(pattern).test(namespace)).toBe(isAllowed);
  },
);

describe('the restricted standard', () => {
  const good: IPodSpec = {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      { name: 'a', securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } },
    ],
  };
  it.each<[string, Partial<IPodSpec>]>([
    ['', {}],
    ['Host Namespaces', { hostNetwork: true }],
    ['Volume Types', { volumes: [{ name: 'v', hostPath: { path: '/' } }] }],
    ['Seccomp', { securityContext: { runAsNonRoot: true } }],
    ['Running as Non-root', { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } }],
    ['Capabilities', { containers: [{ name: 'a', securityContext: { allowPrivilegeEscalation: false } }] }],
    [
      'Privilege Escalation',
      { containers: [{ name: 'a', securityContext: { capabilities: { drop: ['ALL'] } } }] },
    ],
  ])('finds %j', (rule, change) => {
    expect(restrictedProblems({ ...good, ...change }).join()).toMatch(rule === '' ? /^$/ : new RegExp(rule));
  });
});
