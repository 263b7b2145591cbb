import type { BasePlugin } from '@agentmesh/agent';
import type { Scenario } from '../kit.ts';
import {
  call,
  confirm,
  gated,
  llm,
  loop,
  note,
  parallel,
  plugin,
  say,
  sequence,
  to,
  tool,
  words,
} from './parts.ts';

const echo = tool('echo', (args, { state }) => ({ args, calls: state.get('calls') ?? [] }));
const fail = tool('fail', () => {
  throw new Error('no');
});

const scenario = (name: string, options: object, more: Partial<Scenario> = {}): Scenario => ({
  name,
  section: '§2.5',
  parts: { root: llm('root', { tools: ['echo'], ...options }), echo },
  root: 'root',
  script: { root: [call('echo', { a: 1 }), say('done')] },
  turns: ['go'],
  ...more,
});
const withPlugin = (name: string, hooks: Partial<BasePlugin>, more: Partial<Scenario>): Scenario =>
  scenario(name, {}, { plugins: (kit) => [plugin('one', hooks)(kit)], ...more });
const line = {
  root: 'line',
  parts: { line: sequence('line', 'one', 'two'), one: llm('one'), two: llm('two') },
  script: { one: [say('1')], two: [say('2')] },
};
const fan = {
  ...line,
  root: 'fan',
  inParallel: true,
  parts: { fan: parallel('fan', 'one', 'two'), one: llm('one'), two: llm('two') },
};

export const pluginMixScenarios: Scenario[] = [
  withPlugin(
    'a plugin sees every event of a sequence',
    {
      onEventCallback: async ({ event }) => ({ ...event, customMetadata: { by: event.author } }),
    },
    line,
  ),
  withPlugin(
    'a plugin that answers for everybody in a sequence',
    { beforeRunCallback: async () => words('closed') },
    line,
  ),
  withPlugin(
    'a plugin that changes the message of a sequence',
    {
      onUserMessageCallback: async () => ({ role: 'user', parts: [{ text: 'changed' }] }),
    },
    line,
  ),
  withPlugin(
    'a plugin that answers for the model of one branch',
    {
      beforeModelCallback: async ({ callbackContext }) =>
        callbackContext.agentName === 'one' ? { content: words('cached') } : undefined,
    },
    fan,
  ),
  withPlugin(
    'a plugin that changes what models say in branches',
    {
      afterModelCallback: async ({ llmResponse }) => ({ ...llmResponse, content: words('changed') }),
    },
    fan,
  ),
  withPlugin(
    'a plugin that skips a step of a sequence',
    {
      beforeAgentCallback: async ({ agent }) => (agent.name === 'one' ? words('skipped') : undefined),
    },
    { ...line, differs: ['B5'] },
  ),
  withPlugin(
    'a plugin that ends a loop',
    {
      afterToolCallback: async ({ toolContext }) => {
        toolContext.actions.escalate = true;
        return undefined;
      },
    },
    {
      root: 'round',
      parts: { round: loop('round', 3, 'root'), root: llm('root', { tools: ['echo'] }), echo },
      script: { root: [call('echo'), say('once'), say('never')] },
    },
  ),
  withPlugin(
    'a plugin around a transfer',
    {
      beforeToolCallback: async ({ tool: { name }, toolContext }) => note(`before ${name}`)(toolContext),
      afterToolCallback: async ({ tool: { name }, toolContext }) => note(`after ${name}`)(toolContext),
    },
    {
      parts: { root: llm('root', { subAgents: ['helper'] }), helper: llm('helper') },
      script: { root: [to('helper')], helper: [say('here')] },
    },
  ),
  withPlugin(
    'a plugin that forbids a transfer',
    {
      beforeToolCallback: async ({ tool: { name } }) =>
        name === 'transfer_to_agent' ? { error: 'not now' } : undefined,
    },
    {
      parts: { root: llm('root', { subAgents: ['helper'] }), helper: llm('helper') },
      script: { root: [to('helper'), say('I do it')], helper: [say('never')] },
    },
  ),
  withPlugin(
    'a plugin for a tool elsewhere that fails',
    { onToolErrorCallback: async () => ({ mended: true }) },
    {
      parts: { root: llm('root', { tools: ['fail'] }), fail },
      script: { root: [call('fail'), say('done')] },
    },
  ),
  scenario(
    'a plugin after a run that it answered itself',
    {},
    {
      differs: ['D68'],
      turns: ['go', 'again'],
      plugins: (kit) => {
        let ended = 0;
        return [
          plugin('one', {
            beforeRunCallback: async () => words(`closed, ${ended} runs ended`),
            afterRunCallback: async () => {
              ended += 1;
            },
          })(kit),
        ];
      },
    },
  ),
  withPlugin(
    'a plugin sees the answer of a person',
    {
      onUserMessageCallback: async ({ userMessage }) =>
        userMessage.parts?.[0]?.functionResponse ? undefined : { role: 'user', parts: [{ text: 'changed' }] },
    },
    {
      parts: { root: llm('root', { tools: ['pay'] }), pay: gated('pay', () => ({ paid: true })) },
      script: { root: [call('pay'), say('paid')] },
      turns: ['go', confirm()],
    },
  ),
];
