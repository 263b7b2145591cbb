import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from '@agentmesh/agent';
import type { Scenario } from '../kit.ts';
import { call, llm, note, noteIn, say, sequence, tool, words, write } from './parts.ts';

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
const line = {
  root: 'line',
  parts: { line: sequence('line', 'one', 'two'), one: llm('one'), two: llm('two') },
  script: { one: [say('1')], two: [say('2')] },
};

export const callbackMixScenarios: Scenario[] = [
  scenario('a tool elsewhere sees what callbacks wrote', {
    beforeAgentCallback: note('agent'),
    beforeModelCallback: noteIn('model'),
    beforeToolCallback: noteIn('tool'),
  }),
  scenario(
    'a callback after a tool elsewhere sees what it wrote',
    {
      tools: ['write'],
      afterToolCallback: ({ context, response }: { context: Context; response: object }) => ({
        ...response,
        saw: context.state.get('a'),
      }),
    },
    {
      parts: {
        root: llm('root', {
          tools: ['write'],
          afterToolCallback: ({ context, response }: { context: Context; response: object }) => ({
            ...response,
            saw: context.state.get('a'),
          }),
        }),
        write,
      },
      script: { root: [call('write', { a: 1 }), say('done')] },
    },
  ),
  scenario(
    'a callback that transfers in place of a tool elsewhere',
    {},
    {
      parts: {
        root: llm('root', {
          tools: ['echo'],
          subAgents: ['helper'],
          beforeToolCallback: ({ context }: { context: Context }) => {
            context.actions.transferToAgent = 'helper';
            return { sent: true };
          },
        }),
        helper: llm('helper'),
        echo,
      },
      script: { root: [call('echo')], helper: [say('here')] },
    },
  ),
  scenario(
    'callbacks for two calls of one turn',
    {
      beforeToolCallback: ({ args }: { args: { a?: number } }) => (args.a === 1 ? { instead: 1 } : undefined),
      afterToolCallback: ({ args, response }: { args: { a?: number }; response: object }) =>
        args.a === 2 ? { changed: response } : undefined,
    },
    {
      script: {
        root: [
          {
            calls: [
              ...call('echo', { a: 1 }).calls,
              ...call('echo', { a: 2 }).calls,
              ...call('echo', { a: 3 }).calls,
            ],
          },
          say('done'),
        ],
      },
    },
  ),
  scenario(
    'a callback after a tool elsewhere that fails',
    { tools: ['fail'], afterToolCallback: noteIn('after') },
    {
      parts: { root: llm('root', { tools: ['fail'], afterToolCallback: noteIn('after') }), fail },
      script: { root: [call('fail'), say('pity')] },
    },
  ),
  scenario('callbacks that take their time', {
    beforeModelCallback: async ({ context }: { context: Context }) => {
      await delay(5);
      return note('late')(context);
    },
    afterModelCallback: async ({ context }: { context: Context }) => {
      await new Promise((resolve) => setImmediate(resolve));
      return note('later')(context);
    },
  }),
  scenario('a callback that answers a model in the middle of its work', {
    beforeModelCallback: ({ request }: { request: { contents: unknown[] } }) =>
      request.contents.length > 1 ? { content: words('enough') } : undefined,
  }),
  scenario(
    'a callback that adds a call to what the model said',
    {
      afterModelCallback: ({ context, response }: { context: Context; response: { content?: object } }) => {
        if (context.state.get('added')) return undefined;
        context.state.set('added', true);
        return {
          ...response,
          content: { role: 'model', parts: [{ functionCall: { name: 'echo', args: { b: 2 } } }] },
        };
      },
    },
    { script: { root: [say('no calls'), say('done')] } },
  ),
  scenario('a callback that takes a call away from what the model said', {
    afterModelCallback: ({
      response,
    }: {
      response: { content?: { parts?: { functionCall?: object }[] } };
    }) =>
      response.content?.parts?.some(({ functionCall }) => functionCall)
        ? { content: words('I may not') }
        : undefined,
  }),
  scenario(
    'callbacks around each step of a sequence',
    {},
    {
      ...line,
      parts: {
        line: sequence('line', 'one', 'two'),
        one: llm('one', { beforeAgentCallback: note('one before'), afterAgentCallback: note('one after') }),
        two: llm('two', { beforeAgentCallback: note('two before'), afterAgentCallback: note('two after') }),
      },
    },
  ),
  scenario(
    'a callback that skips a step of a sequence by the state',
    {},
    {
      ...line,
      state: { skip: true },
      parts: {
        line: sequence('line', 'one', 'two'),
        one: llm('one', {
          beforeAgentCallback: ({ state }: Context) => (state.get('skip') ? words('skipped') : undefined),
        }),
        two: llm('two'),
      },
    },
  ),
  scenario(
    'a callback that ends the turn before the model is asked',
    {
      beforeModelCallback: ({ context }: { context: Context }) => {
        const { invocationContext } = context;
        if (invocationContext) invocationContext.endInvocation = true;
        return undefined;
      },
    },
    { script: { root: [say('last word')] } },
  ),
];
