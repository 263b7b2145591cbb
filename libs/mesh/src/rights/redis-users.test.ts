import {
  AgentTool,
  App,
  type AuthConfig,
  AuthenticatedFunctionTool,
  FunctionTool,
  LlmAgent,
  LongRunningFunctionTool,
} from '@agentmesh/agent';
import { expect, it } from 'vitest';
import { MeshToolset } from '../remote/mesh-toolset.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { redisAcl } from './redis-acl.ts';
import { redisUsers } from './redis-users.ts';
import { agentManifest, toolManifest } from './service-manifest.ts';

const execute = () => ({});
const authConfig = { credentialKey: 'maps', authScheme: { type: 'apiKey' } } as AuthConfig;
const tool = (name: string, more = {}) => new FunctionTool({ name, description: '', execute, ...more });
const route = new AuthenticatedFunctionTool({ name: 'route', description: '', authConfig, execute });

const guide = new LlmAgent({
  name: 'guide',
  subAgents: [remoteAgent('clerk')],
  tools: [new AgentTool({ agent: new LlmAgent({ name: 'inner', tools: [route] }) })],
});
const clerk = new LlmAgent({ name: 'clerk', tools: [new AgentTool({ agent: remoteAgent('poet') })] });
const poet = new LlmAgent({ name: 'poet', tools: [remoteTool('rhyme')] });
const planner = new LlmAgent({ name: 'planner', tools: [remoteTool('route')] });
const explorer = new LlmAgent({ name: 'explorer', tools: [new MeshToolset({ names: ['*'] })] });
const services = [
  agentManifest(new App({ name: 'guide_app', rootAgent: guide })),
  ...[clerk, poet, planner, explorer].map(agentManifest),
  ...[route, tool('rhyme', { usesMemory: true })].map(toolManifest),
  toolManifest(new LongRunningFunctionTool({ name: 'export', description: '', execute })),
];
const users = redisUsers({ services, prefix: 'p' });
const userOf = (name: string) => users.find((user) => user.name === name) ?? expect.fail(name);
const patternsOf = (name: string) => userOf(name).patterns;
const everyAgent = ['~p:asking:*'];

it('an agent uses its app, and the apps of the agents that reach it', () => {
  expect(patternsOf('agent_poet')).toEqual([
    ...['guide_app', 'clerk', 'poet'].flatMap((app) => [`~p:{${app}:*`, `~p:{${app}}:*`]),
    ...everyAgent,
    '~p:deadlines:poet',
    ...['~p:call:rhyme:*', '~p:job:{rhyme:*'],
    '%R~p:caller-key:*',
  ]);
});

it('an agent uses the credentials of the tools in its process, and the sign-ins of other tools', () => {
  const secrets = (name: string) => patternsOf(name).filter((pattern) => pattern.includes(':secret:'));
  expect(secrets('agent_guide').filter((pattern) => pattern.includes('guide_app'))).toEqual([
    '~p:secret:{guide_app:*}:credentials',
    '~p:secret:{guide_app:*}:credential:maps',
    '~p:secret:{guide_app:*}:credential-turn:maps',
    '~p:secret:{guide_app:*}:sign-in:*:*',
  ]);
  expect(secrets('agent_planner')).toEqual(['~p:secret:{planner:*}:sign-in:*:*']);
  expect(secrets('agent_poet')).toEqual([]);
});

it('a tool uses its calls, its own data, and the data that its definition names', () => {
  const apps = ['guide_app', 'clerk', 'poet', 'explorer'];
  expect(patternsOf('tool_rhyme')).toEqual([
    ...['~p:call:rhyme:*', '~p:job:{rhyme:*', '~p:own:tool_rhyme:*'],
    ...apps.flatMap((app) => [`~p:{${app}:*}:memory`, `~p:{${app}:*}:memory:*`]),
    ...apps.map((app) => `%R~p:{${app}:*}:invocation:*`),
    '%R~p:caller-key:*',
  ]);
  expect(patternsOf('tool_export')).toContain('%R~p:{explorer:*}:pending');
  expect(patternsOf('tool_route').filter((pattern) => pattern.includes('planner'))).toEqual([
    '~p:secret:{planner:*}:credentials',
    '~p:secret:{planner:*}:credential:maps',
    '~p:secret:{planner:*}:credential-turn:maps',
    '~p:secret:{planner:*}:sign-in:*:*',
    '~p:{planner:*}:index',
    '%R~p:{planner:*}:invocation:*',
  ]);
});

it('an agent that calls any tool uses the records of all tools', () => {
  expect(patternsOf('agent_explorer')).toEqual(expect.arrayContaining(['~p:call:*:*', '~p:job:*']));
});

it('the gateway reads no credentials', () => {
  const credentials = patternsOf('gateway').filter((pattern) => /credential(-turn)?:/.test(pattern));
  expect(credentials).toEqual(['%W~p:secret:{*:*}:credential:*', '%W~p:secret:{*:*}:credential-turn:*']);
});

it('only the user for provisioning loads functions', () => {
  const loaders = users.filter(({ commands }) => commands.includes('function|load'));
  expect(loaders.map(({ name }) => name)).toEqual(['provision']);
});

it('writes a line of an ACL file for each user', () => {
  const lines = redisAcl({ services, passwordHash: (user) => `hash-of-${user}` }).split('\n');
  expect(lines).toHaveLength(users.length + 1);
  expect(lines[1]).toMatch(
    /^user gateway on #hash-of-gateway resetchannels resetkeys ~am:\{\* .* nocommands \+asking /,
  );
});
