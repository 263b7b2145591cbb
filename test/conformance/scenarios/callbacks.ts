import type {
  SingleAfterModelCallback,
  SingleAfterToolCallback,
  SingleAgentCallback,
  SingleBeforeModelCallback,
  SingleBeforeToolCallback,
} from '@agentmesh/agent';
import type { Content } from '@google/genai';
import type { Scenario } from '../kit.ts';
import { call, llm, say, to, tool } from './parts.ts';

const echo = tool('echo', (args) => ({ args }));
const words = (text: string): Content => ({ role: 'model', parts: [{ text }] });

/** Makes a callback that notes its call in the state. */
const note = (name: string) =>
  (({ state }) => {
    state.set('calls', [...(state.get<string[]>('calls') ?? []), name]);
    return undefined;
  }) satisfies SingleAgentCallback;
const noted = (name: string) =>
  (({ context }) => note(name)(context)) satisfies SingleBeforeModelCallback & SingleAfterModelCallback;

const root = (callbacks: object, name = 'root') => llm(name, { tools: ['echo'], ...callbacks });
const scenario = (name: string, callbacks: object, more: Partial<Scenario> = {}): Scenario => ({
  name,
  section: '§2.5',
  parts: { root: root(callbacks), echo },
  root: 'root',
  script: { root: [call('echo', { a: 1 }), say('done')] },
  turns: ['go'],
  ...more,
});

export const callbackScenarios: Scenario[] = [
  scenario(
    'every callback in its order',
    {
      instruction: '«{calls}»',
      beforeAgentCallback: note('beforeAgent'),
      afterAgentCallback: note('afterAgent'),
      beforeModelCallback: noted('beforeModel'),
      afterModelCallback: noted('afterModel'),
      beforeToolCallback: noted('beforeTool'),
      afterToolCallback: noted('afterTool'),
    },
    { script: { root: [call('echo'), say('done'), say('again')] }, turns: ['go', 'again'] },
  ),
  scenario('a callback before the agent answers for it', {
    beforeAgentCallback: [
      note('first'),
      (() => words('not today')) satisfies SingleAgentCallback,
      note('never'),
    ],
    afterAgentCallback: note('after'),
  }),
  scenario('a callback after the agent adds words', {
    afterAgentCallback: [
      note('first'),
      (() => words('and that is all')) satisfies SingleAgentCallback,
      note('never'),
    ],
  }),
  scenario(
    'a callback before the agent answers without a role',
    {
      beforeAgentCallback: () => ({ parts: [{ text: 'not today' }] }),
    },
    { differs: ['D13'] },
  ),
  scenario('a callback answers in place of the model', {
    beforeModelCallback: [
      noted('first'),
      (() => ({ content: words('cached') })) satisfies SingleBeforeModelCallback,
      noted('never'),
    ],
    afterModelCallback: noted('after'),
    outputKey: 'said',
  }),
  scenario('a callback changes what the model is asked', {
    beforeModelCallback: (({ request }) => {
      request.contents.push({ role: 'user', parts: [{ text: 'be brief' }] });
      request.config = { ...request.config, temperature: 0.1 };
      return undefined;
    }) satisfies SingleBeforeModelCallback,
  }),
  scenario(
    'a callback calls a tool in place of the model',
    {
      beforeModelCallback: (({ context }) => {
        if (context.state.get('asked')) return undefined;
        context.state.set('asked', true);
        return { content: { role: 'model', parts: [{ functionCall: { name: 'echo', args: { b: 2 } } }] } };
      }) satisfies SingleBeforeModelCallback,
    },
    { script: { root: [say('done')] } },
  ),
  scenario('a callback changes what the model said', {
    outputKey: 'said',
    afterModelCallback: [
      noted('first'),
      (({ response }) => {
        const text = response.content?.parts?.[0]?.text;
        return text ? { ...response, content: words(text.toUpperCase()) } : undefined;
      }) satisfies SingleAfterModelCallback,
      noted('unless replaced'),
    ],
  }),
  scenario(
    'a callback changes the pieces that the model said',
    {
      afterModelCallback: (({ response }) => {
        const text = response.content?.parts?.[0]?.text;
        return text ? { ...response, content: words(text.toUpperCase()) } : undefined;
      }) satisfies SingleAfterModelCallback,
    },
    { script: { root: [{ chunks: ['one', ' two'] }] }, streaming: true },
  ),
  scenario('a callback answers in place of the tool', {
    beforeToolCallback: [
      noted('first') as never,
      (({ args }) => ({ instead: args })) satisfies SingleBeforeToolCallback,
      noted('never') as never,
    ],
    afterToolCallback: noted('after') as never,
  }),
  scenario(
    'a callback changes the arguments of a tool',
    {
      beforeToolCallback: (({ args }) => {
        args.b = 2;
        return undefined;
      }) satisfies SingleBeforeToolCallback,
    },
    { differs: ['D32'] },
  ),
  scenario('a callback changes what a tool said', {
    afterToolCallback: [
      (() => undefined) satisfies SingleAfterToolCallback,
      (({ response, tool: { name } }) => ({ name, response })) satisfies SingleAfterToolCallback,
      noted('never') as never,
    ],
  }),
  scenario('a callback ends the turn at a tool', {
    afterToolCallback: (({ context }) => {
      context.actions.skipSummarization = true;
      return undefined;
    }) satisfies SingleAfterToolCallback,
  }),
  scenario(
    'a callback before the model throws',
    {
      beforeModelCallback: () => {
        throw new Error('no');
      },
    },
    { differs: ['D11'] },
  ),
  scenario(
    'a callback before the tool throws',
    {
      beforeToolCallback: () => {
        throw new Error('no');
      },
    },
    { differs: ['D11'] },
  ),
  scenario(
    'a callback after the tool throws',
    {
      afterToolCallback: () => {
        throw new Error('no');
      },
    },
    { differs: ['D11'] },
  ),
  scenario('a callback before the agent throws', {
    beforeAgentCallback: () => {
      throw new Error('no');
    },
  }),
  scenario(
    'a callback for a tool that fails',
    {
      tools: [
        tool('echo', () => {
          throw new Error('no');
        }),
      ],
      onToolErrorCallback: () => ({ mended: true }),
    },
    { differs: ['D12'] },
  ),
  scenario(
    'a callback for a model that fails',
    {
      onModelErrorCallback: () => ({ content: words('another time') }),
    },
    { differs: ['D12'], script: { root: [{ error: { status: 400, message: 'no' } }] } },
  ),
  {
    name: 'callbacks of an agent and of what it hands over to',
    section: '§2.5',
    parts: {
      boss: llm('boss', {
        subAgents: ['helper'],
        beforeAgentCallback: note('boss before'),
      }),
      helper: llm('helper', {
        beforeAgentCallback: note('helper before'),
        afterAgentCallback: note('helper after'),
      }),
    },
    root: 'boss',
    script: { boss: [to('helper')], helper: [say('here'), say('still here')] },
    turns: ['one', 'two'],
  },
  {
    name: 'a callback after an agent that handed over',
    section: '§2.5',
    differs: ['D23'],
    parts: {
      boss: llm('boss', { subAgents: ['helper'], afterAgentCallback: note('boss after') }),
      helper: llm('helper', { afterAgentCallback: note('helper after') }),
    },
    root: 'boss',
    script: { boss: [to('helper'), say('boss')], helper: [say('here'), say('still here')] },
    turns: ['one', 'two'],
  },
  {
    name: 'callbacks of a sequence and of what is in it',
    section: '§2.5',
    parts: {
      line: (kit) =>
        new kit.SequentialAgent({
          name: 'line',
          subAgents: [kit.agent('one'), kit.agent('two')],
          beforeAgentCallback: note('line before'),
          afterAgentCallback: [note('line after'), () => words('all done')],
        }),
      one: llm('one', { beforeAgentCallback: note('one before') }),
      two: llm('two', { beforeAgentCallback: () => words('I rest'), afterAgentCallback: note('two after') }),
    },
    root: 'line',
    script: { one: [say('1')], two: [] },
    turns: ['go'],
  },
];
