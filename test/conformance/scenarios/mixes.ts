import type { BasePlugin, Context } from '@agentmesh/agent';
import type { Scenario } from '../kit.ts';
import {
  answer,
  call,
  calls,
  confirm,
  gated,
  llm,
  longRunning,
  loop,
  note,
  noteIn,
  parallel,
  plugin,
  read,
  say,
  sequence,
  to,
  tool,
  words,
  write,
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

export const mixScenarios: Scenario[] = [
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
      await new Promise((resolve) => setTimeout(resolve, 5));
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
  scenario(
    'the current turn alone for a sub-agent, over two turns',
    {},
    {
      section: '§3.5',
      parts: {
        root: llm('root', { subAgents: ['helper'] }),
        helper: llm('helper', { includeContents: 'none' }),
      },
      script: { root: [say('hello'), to('helper')], helper: [say('here'), say('still here')] },
      turns: ['hi', 'go', 'and?'],
    },
  ),
  scenario(
    'the current turn alone for each step of a sequence',
    {},
    {
      section: '§3.5',
      ...line,
      parts: {
        line: sequence('line', 'one', 'two'),
        one: llm('one', { includeContents: 'none' }),
        two: llm('two', { includeContents: 'none' }),
      },
      script: { one: [say('1'), say('3')], two: [say('2'), say('4')] },
      turns: ['go', 'again'],
    },
  ),
  scenario(
    'the current turn alone while a long-running call has no result',
    { includeContents: 'none', tools: ['silent'] },
    {
      differs: ['D66'],
      section: '§3.5',
      parts: {
        root: llm('root', { includeContents: 'none', tools: ['silent'] }),
        silent: longRunning('silent', () => undefined),
      },
      script: { root: [call('silent'), say('approved')] },
      turns: ['go', answer({ silent: { status: 'approved' } })],
    },
  ),
  scenario(
    'a loop whose agents hand over',
    {},
    {
      section: '§4.3',
      root: 'round',
      parts: {
        round: loop('round', 2, 'root'),
        root: llm('root', { subAgents: ['helper'] }),
        helper: llm('helper'),
      },
      script: { root: [to('helper'), to('helper')], helper: [say('1'), say('2')] },
    },
  ),
  scenario(
    'a branch whose agent hands over',
    {},
    {
      section: '§4.2',
      root: 'fan',
      inParallel: true,
      parts: {
        fan: parallel('fan', 'root', 'right'),
        root: llm('root', { subAgents: ['helper'] }),
        helper: llm('helper'),
        right: llm('right'),
      },
      script: { root: [to('helper')], helper: [say('H')], right: [say('R')] },
    },
  ),
  scenario(
    'a transfer to a sequence, and the next turn',
    {},
    {
      section: '§3.8',
      parts: {
        root: llm('root', { subAgents: ['line'] }),
        line: (kit) =>
          new kit.SequentialAgent({
            name: 'line',
            description: 'Agent line.',
            subAgents: [kit.agent('one'), kit.agent('two')],
          }),
        one: llm('one'),
        two: llm('two'),
      },
      script: { root: [to('line'), say('root again')], one: [say('1')], two: [say('2')] },
      turns: ['go', 'and?'],
    },
  ),
  scenario(
    'three calls of one turn, one of which transfers',
    {},
    {
      section: '§3.8',
      parts: {
        root: llm('root', { tools: ['echo', 'write'], subAgents: ['helper'] }),
        helper: llm('helper', { tools: ['read'] }),
        echo,
        write,
        read,
      },
      script: {
        root: [{ calls: [...call('echo').calls, ...to('helper').calls, ...call('write', { a: 1 }).calls] }],
        helper: [call('read', { keys: ['a'] }), say('here')],
      },
    },
  ),
  scenario(
    'two transfers of one turn',
    {},
    {
      section: '§3.8',
      parts: { root: llm('root', { subAgents: ['one', 'two'] }), one: llm('one'), two: llm('two') },
      script: {
        root: [{ calls: [...to('one').calls, ...to('two').calls] }],
        one: [say('1')],
        two: [say('2')],
      },
    },
  ),
  scenario(
    'the id of the event that made a call',
    {},
    {
      section: '§5.7',
      parts: {
        root: llm('root', { tools: ['look'] }),
        look: tool('look', (_args, context) => ({
          call: typeof context.functionCallId,
          event: typeof Reflect.get(context, 'functionCallEventId'),
          invocation: context.invocationId.startsWith('e-'),
        })),
      },
      script: { root: [call('look'), say('done')] },
      differs: ['D65'],
    },
  ),
  scenario(
    'results that look like a wrapped one',
    {},
    {
      section: '§3.7',
      parts: {
        root: llm('root', { tools: ['one', 'two', 'three'] }),
        one: tool('one', () => ({ result: 1 })),
        two: tool('two', () => ({ output: [1, 2], error: null })),
        three: tool('three', () => ({})),
      },
      script: { root: [calls('one', 'two', 'three'), say('done')] },
    },
  ),
  scenario(
    'lists of lists, and an empty one, as results',
    {},
    {
      section: '§3.7',
      differs: ['D40'],
      parts: {
        root: llm('root', { tools: ['one', 'two'] }),
        one: tool('one', () => [[1, [2]], { a: [3] }]),
        two: tool('two', () => []),
      },
      script: { root: [calls('one', 'two'), say('done')] },
    },
  ),
  scenario(
    'a tool that waits for another one of the same turn',
    {},
    {
      section: '§3.7',
      differs: ['B3'],
      parts: {
        root: (kit) => {
          const { promise, resolve } = Promise.withResolvers<string>();
          const late = new Promise<string>((done) => setTimeout(done, 300, 'alone').unref());
          const waits = tool('waits', async () => await Promise.race([promise, late]));
          const comes = tool('comes', () => {
            resolve('together');
            return 'here';
          });
          return llm('root', { tools: [waits, comes] })(kit);
        },
      },
      script: { root: [calls('waits', 'comes'), say('done')] },
    },
  ),
  scenario(
    'a toolset that is closed only with its runner',
    {},
    {
      section: '§5.5',
      differs: ['B16'],
      parts: {
        root: (kit) => {
          let closed = 0;
          const set = new (class extends kit.BaseToolset {
            async getTools() {
              return [tool('look', () => ({ closed }))(kit)];
            }
            override async close() {
              closed += 1;
            }
          })([]);
          return llm('root', { tools: [() => set] })(kit);
        },
      },
      script: { root: [call('look'), say('1'), call('look'), say('2')] },
      turns: ['go', 'again'],
    },
  ),
  scenario(
    'code that the model wrote is run',
    {},
    {
      section: '§3.9',
      differs: ['B18'],
      parts: {
        root: (kit) => llm('root', { codeExecutor: new kit.UnsafeLocalCodeExecutor() })(kit),
      },
      script: { root: [say('```python\nprint(6 * 7)\n```'), say('forty-two')] },
    },
  ),
  scenario(
    'a router with a second agent for one whose model fails',
    {},
    {
      section: '§4.6',
      differs: ['B24'],
      root: 'route',
      parts: {
        route: (kit) =>
          new kit.RoutedAgent({
            name: 'route',
            agents: { one: kit.agent('one'), two: kit.agent('two') },
            router: (_agents: unknown, _context: unknown, failed?: { failedKeys: ReadonlySet<string> }) =>
              failed?.failedKeys.has('one') ? 'two' : 'one',
          } as never),
        one: llm('one'),
        two: llm('two'),
      },
      script: { one: [{ error: { status: 400, message: 'no' } }], two: [say('instead')] },
    },
  ),
];
