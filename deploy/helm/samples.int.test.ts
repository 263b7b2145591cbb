import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { subjects } from '@agentmesh/protocol';
import { readConfig, serviceConfig } from '@agentmesh/service';
import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject';
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { Service } from 'kubernetes-models/v1/Service';
import { describe, expect, it } from 'vitest';
import { deployFolder, readManifests } from '../checks/manifests.ts';
import { canRunHelm, runHelm } from '../checks/programs.ts';
import { problemsOf } from '../checks/schema.ts';
import { deployedServices, knownVariables } from '../checks/services.ts';
import { sampleValues } from '../generated.ts';
import { samples } from '../local/samples.ts';

/** The objects that the chart makes for the samples. */
const manifests = canRunHelm ? renderSamples() : [];
const deployments = manifests.filter(Deployment.is);
const meshEnv = manifests.filter(ConfigMap.is).find(({ metadata }) => metadata?.name === 'mesh')?.data ?? {};
const config = readConfig(serviceConfig, meshEnv);

function renderSamples() {
  const chart = join(import.meta.dirname, 'agentmesh');
  const text = runHelm(['template', 'mesh', chart, '--values', '-'], sampleValues());
  return readManifests(text, 'the chart') as { kind?: string; metadata?: { name?: string } }[];
}

const names = (of: { metadata?: { name?: string } }[]) => of.map(({ metadata }) => metadata?.name).sort();
const podOf = (deployment: IDeployment) => {
  const pod = deployment.spec?.template.spec;
  const container = pod?.containers[0];
  if (!pod || !container) throw new Error('a Deployment without a container');
  return { pod, container };
};
const agents = deployedServices.filter(({ agent }) => agent);

it.each(manifests.map((manifest) => ({ manifest, kind: manifest.kind, name: manifest.metadata?.name })))(
  '$kind $name holds only fields that Kubernetes and KEDA know',
  ({ manifest }) => {
    expect(problemsOf(manifest)).toEqual([]);
  },
);

describe('the deployments', () => {
  it('are the services of the mesh', () => {
    expect(names(deployments)).toEqual(deployedServices.map(({ name }) => name).sort());
  });

  it.each(deployments.map((deployment) => ({ name: deployment.metadata?.name ?? '', deployment })))(
    '$name has probes, limits, a user that is not root and time to stop',
    ({ name, deployment }) => {
      const { pod, container } = podOf(deployment);
      const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
      expect(probes.map((probe) => [probe?.httpGet?.path, probe?.httpGet?.port])).toEqual([
        ['/livez', 'health'],
        ['/livez', 'health'],
        ['/readyz', 'health'],
      ]);
      const health = container.ports?.find((port) => port.name === 'health')?.containerPort;
      expect(health).toBe(config.healthPort);
      const preStop = container.lifecycle?.preStop?.sleep?.seconds ?? 0;
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(config.graceMs / 1000 + preStop + 2);
      expect(container.resources?.requests).toMatchObject({
        cpu: expect.anything(),
        memory: expect.anything(),
      });
      expect(container.resources?.limits).toMatchObject({ memory: expect.anything() });
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(pod.enableServiceLinks).toBe(false);
      expect(deployment.spec?.strategy?.rollingUpdate?.maxUnavailable).toBe(0);
      expect(deployment.spec?.selector.matchLabels).toEqual({ 'app.kubernetes.io/name': name });
      expect(deployment.spec?.template.metadata?.labels).toMatchObject({ 'app.kubernetes.io/name': name });
      expect(container.image).toBe(`agentmesh/${name}:dev`);
    },
  );

  it.each(deployedServices)('$name has users of NATS and Redis of its own', ({ name, user }) => {
    const deployment = deployments.find(({ metadata }) => metadata?.name === name) as IDeployment;
    const env = podOf(deployment).container.env ?? [];
    expect(env).toContainEqual({ name: 'MESH_NATS_USER', value: user });
    const key = { name: `nats-${user.replaceAll('_', '-')}`, key: 'password' };
    expect(env).toContainEqual({ name: 'MESH_NATS_PASSWORD', valueFrom: { secretKeyRef: key } });
    const url = { name: `redis-${user.replaceAll('_', '-')}`, key: 'url' };
    expect(env).toContainEqual({ name: 'REDIS_URL', valueFrom: { secretKeyRef: url } });
    const seals = { name: 'credentials', key: 'keys' };
    const keys = env.filter((each) => each.name === 'CREDENTIAL_KEYS');
    expect(keys).toEqual(
      name === 'keeper' ? [{ name: 'CREDENTIAL_KEYS', valueFrom: { secretKeyRef: seals } }] : [],
    );
  });

  it('set only variables that their services read', () => {
    for (const deployment of deployments) {
      const own = (podOf(deployment).container.env ?? []).map(({ name }) => name);
      const set = [...Object.keys(meshEnv), ...own].filter((name) => name.startsWith('MESH_'));
      const name = deployment.metadata?.name ?? '';
      expect(
        set.filter((variable) => !knownVariables(name).includes(variable)),
        name,
      ).toEqual([]);
    }
  });
});

describe('the autoscalers', () => {
  const scaled = manifests.filter(ScaledObject.is);
  const { workStream, workConsumer } = subjects(config.namespace);

  it.each(agents)('scale $name on its own queues', ({ name, agent = '' }) => {
    const own = scaled.filter(({ metadata }) => metadata?.name === name);
    expect(own.map(({ spec }) => spec.scaleTargetRef)).toEqual([{ name }]);
    const triggerOn = (stream: string) =>
      expect.objectContaining({
        account: 'MESH',
        stream,
        consumer: workConsumer(agent),
        // The lag counts items in work too, so the threshold is the load of one replica.
        lagThreshold: String(config.maxConcurrency),
        activationLagThreshold: '0',
      });
    const streams = [workStream('run'), workStream('operation')];
    expect(own[0]?.spec.triggers.map(({ metadata }) => metadata)).toEqual(streams.map(triggerOn));
  });

  it('alone decide the numbers of replicas, except those of tools and keepers', () => {
    expect(names(scaled)).toEqual(agents.map(({ name }) => name).sort());
    expect(names(manifests.filter(HorizontalPodAutoscaler.is))).toEqual(['gateway']);
    const fixed = deployments.filter(({ spec }) => spec?.replicas !== undefined);
    const tools = deployedServices.filter(({ tool }) => tool);
    expect(names(fixed)).toEqual(['keeper', ...tools.map(({ name }) => name)].sort());
  });

  it('never scale an agent to zero that other agents ask', () => {
    const atZero = names(scaled.filter(({ spec }) => spec.minReplicaCount === 0));
    expect(atZero).toContain('support-agent');
    const asked = samples.flatMap(({ manifest }) => manifest.asks).map((name) => name.replaceAll('_', '-'));
    expect(asked).toContain('summary-agent');
    expect(atZero.filter((name = '') => asked.includes(name))).toEqual([]);
  });
});

it('points services and disruption budgets at pods that exist', () => {
  const labels = deployments.map(({ spec }) => spec?.template.metadata?.labels);
  for (const { spec } of manifests.filter(Service.is))
    expect(labels).toContainEqual(expect.objectContaining(spec?.selector ?? {}));
  for (const { spec } of manifests.filter(PodDisruptionBudget.is)) {
    expect(labels).toContainEqual(expect.objectContaining(spec?.selector?.matchLabels ?? {}));
  }
});

it('names every secret in the README', () => {
  const text = JSON.stringify(manifests);
  const used = [...text.matchAll(/"secretKeyRef":\{"name":"([^"]+)"/g)].map(([, name]) => name ?? '');
  const readme = readFileSync(join(deployFolder, 'README.md'), 'utf8');
  expect([...new Set(used)].filter((name) => !readme.includes(name))).toEqual([]);
});
