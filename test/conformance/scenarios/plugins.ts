import type { BasePlugin, Context } from '@agentmesh/agent';
import type { Content } from '@google/genai';
import type { Kit, Scenario } from '../kit.ts';
import { asked, call, llm, say, sequence, to, tool } from './parts.ts';

const words = (text: string): Content => ({ role: 'model', parts: [{ text }] });
const echo = tool('echo', (args) => ({ args }));
const fails = tool('fails', () => {
  throw new Error('no');
});
const note = (name: string, { state }: Context) => {
  state.set('calls', [...(state.get<string[]>('calls') ?? []), name]);
  return undefined;
};

/** Makes a plugin with only these callbacks. */
const plugin =
  (name: string, hooks: Partial<BasePlugin>) =>
  (kit: Kit): BasePlugin =>
    Object.assign(new (class extends kit.BasePlugin {})(name), hooks);

/** Makes a plugin that notes its calls. */
const witness = (name: string, more: Partial<BasePlugin> = {}) =>
  plugin(name, {
    beforeModelCallback: async ({ callbackContext }) => note(`${name} beforeModel`, callbackContext),
    afterModelCallback: async ({ callbackContext }) => note(`${name} afterModel`, callbackContext),
    beforeToolCallback: async ({ toolContext }) => note(`${name} beforeTool`, toolContext),
    afterToolCallback: async ({ toolContext }) => note(`${name} afterTool`, toolContext),
    ...more,
  });

const scenario = (
  name: string,
  plugins: ((kit: Kit) => BasePlugin)[],
  { options = {}, ...more }: Partial<Scenario> & { options?: object } = {},
): Scenario => ({
  name,
  section: '§2.5',
  parts: { root: llm('root', { tools: ['echo'], ...options }), echo },
  root: 'root',
  script: { root: [call('echo', { a: 1 }), say('done')] },
  turns: ['go'],
  plugins: (kit) => plugins.map((make) => make(kit)),
  ...more,
});

export const pluginScenarios: Scenario[] = [
  scenario('plugins in their order, then the agent', [witness('one'), witness('two')], {
    options: {
      beforeModelCallback: ({ context }: { context: Context }) => note('agent beforeModel', context),
      afterToolCallback: ({ context }: { context: Context }) => note('agent afterTool', context),
    },
  }),
  scenario(
    'a plugin that answers for the model keeps the others from being asked',
    [witness('one', { beforeModelCallback: async () => ({ content: words('cached') }) }), witness('two')],
    { options: { beforeModelCallback: ({ context }: { context: Context }) => note('agent', context) } },
  ),
  scenario('a plugin that answers for a tool', [
    witness('one', { beforeToolCallback: async ({ toolArgs }) => ({ instead: toolArgs }) }),
    witness('two'),
  ]),
  scenario('a plugin that changes what a tool said', [
    witness('one', { afterToolCallback: async ({ result }) => ({ changed: result }) }),
    witness('two'),
  ]),
  scenario('a plugin that changes what the model said', [
    witness('one', {
      afterModelCallback: async ({ llmResponse }) =>
        llmResponse.content?.parts?.[0]?.text ? { ...llmResponse, content: words('changed') } : undefined,
    }),
    witness('two'),
  ]),
  scenario('a plugin that changes what the user said', [
    plugin('one', { onUserMessageCallback: async () => ({ role: 'user', parts: [{ text: 'changed' }] }) }),
    plugin('two', { onUserMessageCallback: async () => ({ role: 'user', parts: [{ text: 'never' }] }) }),
  ]),
  scenario('a plugin that answers for everybody', [
    plugin('one', { beforeRunCallback: async () => words('closed today') }),
  ]),
  scenario('a plugin that changes events', [
    plugin('one', {
      onEventCallback: async ({ event }) =>
        event.content?.parts?.[0]?.text ? { ...event, customMetadata: { seen: true } } : undefined,
    }),
  ]),
  scenario('a plugin that takes the words of events away', [
    plugin('one', {
      onEventCallback: async ({ event: { content, ...event } }) =>
        content?.parts?.[0]?.text ? event : undefined,
    }),
  ]),
  scenario(
    'a plugin that puts words in place of a result',
    [
      plugin('one', {
        onEventCallback: async ({ event }) =>
          event.content?.parts?.[0]?.functionResponse ? { ...event, content: words('a result') } : undefined,
      }),
    ],
    { differs: ['B21'] },
  ),
  scenario('a plugin that puts a call into an answer', [
    plugin('one', {
      onEventCallback: async ({ event }) =>
        event.content?.parts?.[0]?.text
          ? {
              ...event,
              content: {
                role: 'model',
                parts: [...event.content.parts, { functionCall: { id: 'planted', name: 'echo', args: {} } }],
              },
            }
          : undefined,
    }),
  ]),
  scenario(
    'a plugin for a model that fails',
    [plugin('one', { onModelErrorCallback: async () => ({ content: words('another time') }) })],
    { differs: ['D17'], script: { root: [{ error: { status: 400, message: 'no' } }] } },
  ),
  scenario(
    'a plugin for a tool that fails',
    [plugin('one', { onToolErrorCallback: async ({ toolArgs }) => ({ mended: toolArgs }) })],
    {
      parts: { root: llm('root', { tools: [fails] }) },
      script: { root: [call('fails', { a: 1 }), say('done')] },
    },
  ),
  scenario('a plugin that takes tools away', [plugin('one', { beforeToolSelection: async () => ({}) })], {
    script: { root: [say('without')] },
  }),
  scenario(
    'plugins around agents',
    [
      plugin('one', {
        beforeAgentCallback: async ({ agent, callbackContext }) =>
          note(`before ${agent.name}`, callbackContext),
        afterAgentCallback: async ({ agent, callbackContext }) =>
          note(`after ${agent.name}`, callbackContext),
      }),
    ],
    {
      differs: ['B5'],
      parts: { line: sequence('line', 'root'), root: llm('root') },
      root: 'line',
      script: { root: [say('done')] },
    },
  ),
  scenario(
    'a plugin that throws',
    [
      plugin('one', {
        beforeModelCallback: async () => {
          throw new Error('no');
        },
      }),
    ],
    { differs: ['D11'] },
  ),
  {
    name: 'a plugin that instructs all agents',
    section: '§3.3',
    parts: {
      boss: llm('boss', { instruction: '«Lead.»', subAgents: ['helper'] }),
      helper: llm('helper', { instruction: '«Help.»' }),
    },
    root: 'boss',
    script: { boss: [to('helper')], helper: [say('here')] },
    turns: ['go'],
    plugins: (kit) => [new kit.GlobalInstructionPlugin('«All speak Latin.»')],
  },
  {
    name: 'a plugin and an agent used as a tool',
    section: '§5.4',
    differs: ['D16'],
    parts: { parent: llm('parent', { tools: [asked('child')] }), child: llm('child') },
    root: 'parent',
    script: { parent: [call('child', { request: 'x' }), say('done')], child: [say('child')] },
    turns: ['go'],
    plugins: (kit) => [
      plugin('one', {
        afterModelCallback: async ({ callbackContext }) => note(callbackContext.agentName, callbackContext),
      })(kit),
    ],
  },
];
