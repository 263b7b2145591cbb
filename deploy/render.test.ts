import { readFileSync } from 'node:fs';
import { deployedServices, renderCompose, renderKubernetes } from '@agentmesh/cli/render';
import type { ServiceManifest } from '@agentmesh/mesh';
import { subjects } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type Kustomization, kustomizationKeys } from './checks/manifests.ts';
import { problemsOf } from './checks/schema.ts';

const service = (kind: 'agent' | 'tool', name: string, more: Partial<ServiceManifest> = {}) => ({
  manifest: { kind, name, transfers: [], asks: [], calls: [], ...more },
  program: `${kind}s/${name}/main.ts`,
});
const programs = [
  service('agent', 'desk', { app: 'desk', transfers: ['clerk'], asks: ['writer'], calls: ['pay', 'count'] }),
  service('agent', 'clerk'),
  service('agent', 'writer'),
  service('tool', 'pay', { longRunning: true }),
  service('tool', 'count'),
];
const mesh = { project: 'shop', namespace: 'blue', services: deployedServices(programs, 'shop') };
const documentsOf = (text: string) =>
  parseAllDocuments(text, { merge: true }).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });

describe('the files that agentmesh render writes for a project', () => {
  const { files } = renderKubernetes(mesh);
  const manifests = Object.entries(files).filter(
    ([file]) => /^kubernetes\/.*\.yaml$/.test(file) && !file.endsWith('kustomization.yaml'),
  );

  it.each(manifests)('%s holds only fields that Kubernetes and KEDA know', (_, text) => {
    for (const manifest of documentsOf(text)) expect(problemsOf(manifest)).toEqual([]);
  });

  it('have a kustomization that lists them', () => {
    const [found] = documentsOf(files['kubernetes/kustomization.yaml'] ?? '') as [Kustomization];
    expect(Object.keys(found).filter((key) => !kustomizationKeys.includes(key))).toEqual([]);
    const listed = found.resources.map((file) => `kubernetes/${file}`);
    expect(listed.sort()).toEqual(manifests.map(([file]) => file).sort());
  });

  it('scale an agent to zero that is reached by transfer alone, and no other', () => {
    const counts = ['desk', 'clerk', 'writer'].map((name) => {
      const [, scaled] = documentsOf(files[`kubernetes/agents/${name}.yaml`] ?? '');
      return scaled.spec.minReplicaCount;
    });
    expect(counts).toEqual([1, 0, 1]);
  });

  it('have a Compose file whose services wait for the servers, and whose agents alone have the key of models', () => {
    const [compose] = documentsOf(renderCompose(mesh).files['compose.yaml'] ?? '');
    const own = Object.keys(compose.services).filter(
      (name) => !['nats', 'redis', 'provision'].includes(name),
    );
    expect(own).toEqual(mesh.services.map(({ name }) => name));
    for (const name of own)
      expect(Object.keys(compose.services[name].depends_on).sort()).toEqual(['nats', 'provision', 'redis']);
    const holders = own.filter((name) => compose.services[name].environment.GEMINI_API_KEY);
    expect(holders).toEqual(['desk', 'clerk', 'writer']);
    expect(compose.services.desk.environment).toMatchObject({
      MESH_NAMESPACE: 'blue',
      MESH_NATS_USER: 'blue:agent_desk',
    });
  });
});

it.each(['mesh', 'team_a', 'a-1', 'a'.repeat(32), 'a'.repeat(33), 'Team', 'a.b', ''])(
  'the chart takes the namespace %j if a mesh may have it',
  (namespace) => {
    const schema = JSON.parse(
      readFileSync(new URL('./helm/agentmesh/values.schema.json', import.meta.url), 'utf8'),
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
