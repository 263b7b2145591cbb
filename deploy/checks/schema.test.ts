import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readYaml } from './manifests.ts';
import { problemsOf } from './schema.ts';

type Tree = { [key: string]: Tree };

/** Returns a valid Deployment and a valid ScaledObject of an agent, which the tests then break. */
function good(): [Tree, Tree] {
  return readYaml(join(import.meta.dirname, 'agent.fixture.yaml')) as [Tree, Tree];
}

function at(tree: Tree, path: string): Tree {
  return path.split('/').reduce((node, key) => node[key] as Tree, tree);
}

/** Renames a field. */
function rename(tree: Tree, from: string, to: string) {
  tree[to] = tree[from] as Tree;
  delete tree[from];
}

const pod = 'spec/template/spec';
const container = `${pod}/containers/0`;

describe('problemsOf', () => {
  it('finds nothing in a good manifest', () => {
    expect(good().map(problemsOf)).toEqual([[], []]);
  });

  it.each([
    ['', 'spec', 'spek'],
    ['spec', 'strategy', 'strategie'],
    [pod, 'terminationGracePeriodSeconds', 'terminationGraceSeconds'],
    [`${pod}/securityContext`, 'runAsNonRoot', 'runasNonRoot'],
    [container, 'livenessProbe', 'livenesProbe'],
    [`${container}/readinessProbe`, 'httpGet', 'httpget'],
    [`${container}/resources`, 'limits', 'limit'],
    [`${container}/env/1/valueFrom/secretKeyRef`, 'optional', 'optionl'],
  ])('finds a misspelled field below %s: %s', (path, from, to) => {
    const [deployment] = good();
    const node = path ? at(deployment, path) : deployment;
    node[from] ??= {};
    rename(node, from, to);
    expect(problemsOf(deployment).join()).toContain(to === 'spek' ? 'spek' : `/${to} is not a field of`);
  });

  it.each([
    ['spec', 'minReplicaCount', 'minReplicas'],
    ['spec', 'cooldownPeriod', 'coolDownPeriod'],
    ['spec/triggers/0', 'metricType', 'metrictype'],
  ])('finds a misspelled field of a ScaledObject below %s: %s', (path, from, to) => {
    const [, scaled] = good();
    const node = at(scaled, path);
    node[from] ??= {};
    rename(node, from, to);
    expect(problemsOf(scaled)).toEqual([`/${path}/${to} is not a field of ScaledObject`]);
  });

  it('finds a key that the trigger does not have', () => {
    const [, scaled] = good();
    rename(at(scaled, 'spec/triggers/0/metadata'), 'lagThreshold', 'lagTreshold');
    expect(problemsOf(scaled)).toEqual(['the nats-jetstream trigger has no lagTreshold']);
  });

  it('finds a missing field, a wrong type and an unknown kind', () => {
    const [missing] = good();
    delete at(missing, 'spec').selector;
    expect(problemsOf(missing).join()).toContain('selector');
    const [wrong] = good();
    Object.assign(at(wrong, pod), { terminationGracePeriodSeconds: '35' });
    expect(problemsOf(wrong).join()).toContain('terminationGracePeriodSeconds');
    expect(problemsOf({ apiVersion: 'apps/v1', kind: 'Deploymint' })).toHaveLength(1);
  });
});
