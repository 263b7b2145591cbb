import { FunctionTool, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { createAccount } from '@nats-io/jwt';
import { describe, expect, it } from 'vitest';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { covers, planAccounts } from '../rights/accounts.ts';
import { agentManifest, busName, toolManifest } from '../rights/service-manifest.ts';
import { accountClaims } from './account-claims.ts';

const execute = () => ({});
const desk = new LlmAgent({ name: 'desk', subAgents: [remoteAgent('billing')], tools: [remoteTool('rate')] });
const billing = new LlmAgent({ name: 'billing', tools: [remoteTool('export')] });
const rate = new FunctionTool({ name: 'rate', description: '', execute });
const exporting = new LongRunningFunctionTool({ name: 'export', description: '', execute });
const services = [...[desk, billing].map(agentManifest), ...[rate, exporting].map(toolManifest)];

function claimsOf(namespace: string, manifests = services) {
  const plan = planAccounts(manifests, namespace);
  const signing = createAccount().getPublicKey();
  const claims = plan.accounts.map((account) => {
    const keys = { account: account.name, signing: [signing] };
    return [account.name, accountClaims(account, plan, keys, (name) => name, namespace)] as const;
  });
  return { plan, claims: new Map(claims) };
}

describe.each(['mesh', 'shop'])('the claims of the accounts of the namespace %s', (namespace) => {
  const { plan, claims } = claimsOf(namespace);

  it('have one import for each link of the plan, and no other', () => {
    const imports = [...claims].flatMap(([to, each]) =>
      (each.imports ?? []).map(({ type, account, subject }) => `${type} ${account} ${to} ${subject}`),
    );
    const links = plan.links.map(({ kind, from, to, subject }) => `${kind} ${from} ${to} ${subject}`);
    expect(imports.sort()).toEqual(links.sort());
  });

  it('have one export for each link, with its kind of answers', () => {
    for (const { kind, from, subject, hasManyAnswers, answersWithin } of plan.links) {
      const found = (claims.get(from)?.exports ?? []).filter(
        (each) => each.type === kind && covers(each.subject, subject),
      );
      expect(found.map((each) => each.subject)).toHaveLength(1);
      if (kind === 'service')
        expect(found[0]?.response_type, subject).toBe(hasManyAnswers ? 'Stream' : 'Singleton');
      if (answersWithin) expect(found[0]?.response_threshold).toBe(24 * 3_600e9);
    }
  });

  it('have the permissions of the plan as the scope of the key that signs users', () => {
    for (const { name, permissions } of plan.accounts) {
      expect(claims.get(name)?.signing_keys).toEqual([
        expect.objectContaining({
          kind: 'user_scope',
          template: expect.objectContaining({
            pub: expect.objectContaining({ allow: permissions?.publish ?? ['>'] }),
            sub: expect.objectContaining({ allow: permissions?.subscribe ?? ['>'] }),
          }),
        }),
      ]);
    }
  });

  it('limit the connections of agents and tools, and of nobody else', () => {
    const limited = plan.accounts.filter(({ name }) => claims.get(name)?.limits?.conn === 1_000);
    expect(limited.map(({ service }) => service)).toEqual(services.map(busName));
    const others = plan.accounts.filter((account) => !limited.includes(account));
    for (const { name } of others) expect(claims.get(name)?.limits?.conn).toBe(-1);
  });

  it('give JetStream to one account only', () => {
    const withJetStream = [...claims].filter(([, { limits }]) => limits?.disk_storage !== undefined);
    expect(withJetStream.map(([name]) => name)).toEqual([namespace.toUpperCase()]);
  });
});

it('a service that joins changes no exports, and the imports of those alone that use it', () => {
  const before = claimsOf('mesh').claims;
  const more = [...services, toolManifest(new FunctionTool({ name: 'newcomer', description: '', execute }))];
  const { claims } = claimsOf('mesh', more);
  for (const [name, { exports }] of before) expect(claims.get(name)?.exports, name).toEqual(exports);
  const changed = [...before].flatMap(([name, { imports }]) =>
    JSON.stringify(claims.get(name)?.imports) === JSON.stringify(imports) ? [] : [name],
  );
  // The operator and the gateway ask for its replicas.
  expect(changed).toEqual(['MESH', 'gateway']);
});
