import {
  AgentTool,
  type BaseAgent,
  BaseTool,
  FunctionTool,
  LlmAgent,
  type LlmAgentConfig,
  LOAD_ARTIFACTS,
  LongRunningFunctionTool,
} from '@agentmesh/agent';
import { subjects } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { type AccountLink, planAccounts } from './accounts.ts';
import { natsAccounts } from './nats-config.ts';
import { agentManifest, busName, toolManifest } from './service-manifest.ts';

const desk = new LlmAgent({
  name: 'desk',
  subAgents: [remoteAgent('billing')],
  tools: [new AgentTool({ agent: remoteAgent('poet') }), remoteTool('weather')],
});
const billing = new LlmAgent({ name: 'billing', tools: [remoteTool('export')] });
const poet = new LlmAgent({ name: 'poet', tools: [remoteTool('rhyme')] });
const stranger = new LlmAgent({ name: 'stranger' });
const execute = () => ({});
const services = [
  ...[desk, billing, poet, stranger].map(agentManifest),
  ...['weather', 'rhyme'].map((name) => toolManifest(new FunctionTool({ name, description: '', execute }))),
  toolManifest(new LongRunningFunctionTool({ name: 'export', description: '', execute })),
];
const { accounts, links } = planAccounts(services);
const subjectsOf = (filter: (link: AccountLink) => boolean) =>
  links.filter(filter).map(({ subject }) => subject);
const between = (from: string, to: string) => subjectsOf((link) => link.from === from && link.to === to);
const listenersOf = (subject: string) => links.filter((link) => link.subject === subject).map(({ to }) => to);

describe('the accounts of a mesh', () => {
  it('are one for each service, and one for JetStream', () => {
    expect(accounts.map(({ name, user }) => `${name} ${user}`)).toEqual([
      'MESH provision',
      'gateway gateway',
      'client client',
      'agent_desk agent_desk',
      'agent_billing agent_billing',
      'agent_poet agent_poet',
      'agent_stranger agent_stranger',
      'tool_weather tool_weather',
      'tool_rhyme tool_rhyme',
      'tool_export tool_export',
    ]);
  });

  it('reach the queues of their own service and the cards in JetStream, and make and delete nothing there', () => {
    const queue = between('MESH', 'agent_poet').filter(
      (subject) => !/_(ARTIFACTS|CLAIMS_\w+)\b/.test(subject),
    );
    expect(queue).toEqual([
      '$JS.API.INFO',
      '$KV.MESH_CARDS.agent.poet',
      '$JS.API.STREAM.INFO.KV_MESH_CARDS',
      '$JS.API.STREAM.MSG.GET.KV_MESH_CARDS',
      'mesh.v1.agent.poet.run.*',
      'mesh.v1.dead.agent.poet',
      'mesh.v1.audit.agent_poet',
      '$JS.API.CONSUMER.INFO.MESH_RUN.poet',
      '$JS.API.CONSUMER.MSG.NEXT.MESH_RUN.poet',
      '$JS.ACK.MESH_RUN.poet.>',
      '$JS.API.STREAM.MSG.GET.MESH_RUN',
      '$JS.API.CONSUMER.INFO.MESH_OPERATION.poet',
      '$JS.API.CONSUMER.MSG.NEXT.MESH_OPERATION.poet',
      '$JS.ACK.MESH_OPERATION.poet.>',
      'mesh.v1.invocation.*.cancel.operator',
      'mesh.v1.card.>',
    ]);
    const verbs = subjectsOf(({ subject }) => subject.startsWith('$JS.API.'));
    // The gateway removes dead letters, for operators.
    const removal = '$JS.API.STREAM.MSG.DELETE.MESH_DEAD';
    expect(verbs.filter((subject) => /CREATE|UPDATE|DELETE|RESTORE|SNAPSHOT|[*>]/.test(subject))).toEqual([
      removal,
    ]);
    expect(links.filter(({ subject }) => subject === removal).map(({ to }) => to)).toEqual(['gateway']);
  });

  it('let an agent send requests to the agents and tools of its definition', () => {
    expect(between('agent_poet', 'agent_desk')).toContain('mesh.v1.agent.poet.delegate');
    expect(between('agent_billing', 'agent_desk')).toContain('mesh.v1.agent.billing.delegate');
    expect(between('tool_weather', 'agent_desk')).toContain('mesh.v1.tool.weather.call');
    expect(listenersOf('mesh.v1.agent.poet.delegate')).toEqual(['agent_desk']);
    expect(listenersOf('mesh.v1.tool.weather.call')).toEqual(['agent_desk']);
    expect(listenersOf('mesh.v1.agent.poet.ask')).toEqual(['client']);
    expect(listenersOf('mesh.v1.pending')).toEqual(['client']);
  });

  it('let a tool with jobs answer the calls of its callers alone', () => {
    const updates = (account: string) =>
      between('MESH', account).filter((subject) => subject.startsWith('mesh.v1.operation.'));
    expect(updates('tool_export')).toEqual(['mesh.v1.operation.billing.*.tool_export']);
    expect(updates('tool_weather')).toEqual([]);
  });

  it('pass events to the gateway and other programs, each under the name of its agent', () => {
    for (const kind of ['event', 'news'])
      expect(listenersOf(`mesh.v1.session.*.*.*.${kind}.*.*.agent_poet`)).toEqual(['gateway', 'client']);
    expect(listenersOf('mesh.v1.session.*.*.*.news.*.*.gateway')).toEqual(['client']);
    expect(listenersOf('mesh.v1.session.*.*.*.event.*.*.gateway')).toEqual([]);
    const names = links.flatMap(({ from, subject }) => {
      const [, service] = /\.v1\.(?:invocation|session)\..*\.(\w+)$/.exec(subject) ?? [];
      return service === undefined ? [] : [`${from} as ${service}`];
    });
    expect([...new Set(names)].sort()).toEqual(
      [
        'MESH as operator',
        ...['gateway', 'client', 'agent_desk', 'agent_billing', 'agent_poet'].map(
          (name) => `${name} as ${name}`,
        ),
        'agent_stranger as agent_stranger',
      ].sort(),
    );
  });

  it('pass cancellations of an agent to the services that may work for it', () => {
    const cancelled = (service: string) => listenersOf(`mesh.v1.invocation.*.cancel.${service}`).sort();
    expect(cancelled('agent_desk')).toEqual([
      ...['agent_billing', 'agent_poet', 'tool_export', 'tool_rhyme', 'tool_weather'],
    ]);
    expect(cancelled('agent_poet')).toEqual(['tool_rhyme']);
    expect(cancelled('agent_stranger')).toEqual([]);
    expect(cancelled('gateway')).toHaveLength(services.length);
  });

  it('use each subject for one account only', () => {
    const imports = links
      .filter(({ kind }) => kind === 'service')
      .map(({ to, subject }) => `${to} ${subject}`);
    expect(imports.toSorted()).toEqual([...new Set(imports)].sort());
    const twin = agentManifest(new LlmAgent({ name: 'weather' }));
    const pings = planAccounts([...services, twin]).links.filter(
      ({ to, subject }) => to === 'gateway' && subject === '$SRV.PING.weather',
    );
    expect(pings).toHaveLength(1);
  });
});

describe('natsAccounts', () => {
  it('keeps the way back to a program for a day, and the way back to an agent while it hears from it', () => {
    const text = natsAccounts({ services, password: (user) => `$P_${user}` });
    expect(text).toContain(
      '{ service: "mesh.v1.agent.poet.ask", response: stream, threshold: "24h", accounts: ["client"] }',
    );
    expect(text).toContain(
      '{ service: "mesh.v1.agent.poet.delegate", response: stream, accounts: ["agent_desk"] }',
    );
    expect(text).toContain('{ service: "$JS.ACK.MESH_RUN.poet.>", accounts: ["agent_poet"] }');
    expect(text).toContain(
      '{ stream: { account: "agent_poet", subject: "mesh.v1.session.*.*.*.news.*.*.agent_poet" } }',
    );
    expect(text).not.toContain('allow_responses');
  });

  it('takes passwords from variables or as text', () => {
    expect(natsAccounts({ services, password: (user) => `$P_${user}` })).toContain(
      'password: $P_tool_weather,',
    );
    expect(natsAccounts({ services, password: () => 'a"b' })).toContain(String.raw`password: "a\"b"`);
  });
});

describe('files', () => {
  const file = new FunctionTool({ name: 'file', description: '', execute, usesArtifacts: true });
  const agent = (name: string, options: Partial<LlmAgentConfig> = {}) => new LlmAgent({ name, ...options });
  it.each<[string, boolean, BaseAgent | BaseTool]>([
    ['a tool with usesArtifacts', true, file],
    ['another tool', false, new FunctionTool({ name: 'rate', description: '', execute })],
    ['an agent', false, agent('plain', { tools: [remoteTool('file')], subAgents: [remoteAgent('poet')] })],
    ['an agent with usesArtifacts', true, agent('keeper', { usesArtifacts: true })],
    ['an agent with such a tool', true, agent('own', { tools: [file] })],
    ['an agent with LOAD_ARTIFACTS', true, agent('reader', { tools: [LOAD_ARTIFACTS] })],
    [
      'an agent whose instruction names a file',
      true,
      agent('teller', { instruction: 'As {artifact.style?}' }),
    ],
    [
      'an agent with a sub-agent that uses files',
      true,
      agent('top', { subAgents: [agent('sub', { tools: [file] })] }),
    ],
    [
      'an agent that uses such an agent as a tool',
      true,
      agent('boss', { tools: [new AgentTool({ agent: agent('inner', { usesArtifacts: true }) })] }),
    ],
  ])('are for %s: %s', (_what, uses, definition) => {
    const manifest = definition instanceof BaseTool ? toolManifest(definition) : agentManifest(definition);
    expect(manifest.usesArtifacts).toBe(uses);
    const { links } = planAccounts([manifest]);
    const asks = links.filter(({ from, to }) => from === 'keeper' && to === busName(manifest));
    const subject = subjects().keeper(busName(manifest));
    expect(asks.map((each) => each.subject).includes(subject)).toBe(uses);
    // The buckets are for the gateway and the keeper.
    const users = links.filter((each) => each.subject.includes('ARTIFACTS')).map(({ to }) => to);
    expect([...new Set(users)]).toEqual(['gateway', ...(uses ? ['keeper'] : [])]);
  });
});
