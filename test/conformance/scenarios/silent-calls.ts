import type { Scenario } from '../kit.ts';
import { answer, call, calls, llm, longRunning, note, noteIn, plugin, say, sequence, tool } from './parts.ts';

const noting = longRunning('silent', (_args, { state }) => state.set('asked', 'the manager'));
const silent = longRunning('silent', () => undefined);
const yes = { status: 'approved' };

const scenario = (name: string, options: object, more: Partial<Scenario> = {}): Scenario => ({
  name,
  section: '§5.3',
  parts: { root: llm('root', { tools: ['silent'], ...options }), silent },
  root: 'root',
  script: { root: [call('silent'), say('approved'), say('bye')] },
  turns: ['go', answer({ silent: yes })],
  ...more,
});

export const silentCallScenarios: Scenario[] = [
  scenario(
    'state that a silent long-running tool writes',
    { instruction: '«{asked?}»' },
    {
      differs: ['D41'],
      parts: { root: llm('root', { tools: ['silent'], instruction: '«{asked?}»' }), silent: noting },
    },
  ),
  {
    ...scenario('a transfer by a silent long-running tool', {}),
    differs: ['D41'],
    parts: {
      root: llm('root', { tools: ['silent'], subAgents: ['helper'] }),
      helper: llm('helper'),
      silent: longRunning('silent', (_args, { actions }) => {
        actions.transferToAgent = 'helper';
      }),
    },
    script: { root: [call('silent')], helper: [say('here'), say('still here')] },
    turns: ['go', 'and?'],
  },
  {
    ...scenario('a silent long-running tool that skips the summary', {}),
    differs: ['D41'],
    parts: {
      root: llm('root', { tools: ['silent'] }),
      silent: longRunning('silent', (_args, { actions }) => {
        actions.skipSummarization = true;
      }),
    },
  },
  {
    ...scenario('a silent long-running tool that ends a loop', {}),
    differs: ['D41'],
    parts: {
      round: (kit) => new kit.LoopAgent({ name: 'round', maxIterations: 3, subAgents: [kit.agent('root')] }),
      root: llm('root', { tools: ['silent'] }),
      silent: longRunning('silent', (_args, { actions }) => {
        actions.escalate = true;
      }),
    },
    root: 'round',
    script: { root: [call('silent'), call('silent'), call('silent')] },
    turns: ['go'],
  },
  scenario(
    'a callback gives the first result of a silent long-running tool',
    {
      afterToolCallback: ({ response }: { response?: object }) => ({ status: response ? 'odd' : 'pending' }),
    },
    { script: { root: [call('silent'), say('waiting'), say('approved')] } },
  ),
  scenario(
    'a callback that writes to the state after a silent long-running tool',
    { afterToolCallback: noteIn('after') },
    { differs: ['D41'] },
  ),
  scenario(
    'a plugin gives the first result of a silent long-running tool',
    {},
    {
      script: { root: [call('silent'), say('waiting'), say('approved')] },
      plugins: (kit) => [plugin('one', { afterToolCallback: async () => ({ status: 'pending' }) })(kit)],
    },
  ),
  scenario(
    'a callback answers in place of a long-running tool',
    {
      beforeToolCallback: () => ({ status: 'approved at once' }),
    },
    { turns: ['go', 'thanks'] },
  ),
  scenario('a callback after an agent whose silent call waits', { afterAgentCallback: note('after') }),
  scenario(
    'a long-running tool that throws',
    {},
    {
      differs: ['D42'],
      parts: {
        root: llm('root', { tools: ['silent'] }),
        silent: longRunning('silent', () => {
          throw new Error('no');
        }),
      },
      script: { root: [call('silent'), say('pity')] },
      turns: ['go'],
    },
  ),
  scenario(
    'a long-running call whose answer leads to another',
    {},
    {
      script: { root: [call('silent'), call('silent'), say('both')] },
      turns: [
        'go',
        answer({ silent: yes }),
        (events) => {
          const made = events.flatMap(({ content }) => content?.parts ?? []);
          const id = made.findLast(({ functionCall }) => functionCall)?.functionCall?.id ?? '';
          return { role: 'user', parts: [{ functionResponse: { id, name: 'silent', response: yes } }] };
        },
      ],
    },
  ),
  scenario(
    'an answer to a long-running call as words',
    {},
    {
      turns: ['go', answer({ silent: { result: 'The manager said: "fine"' } })],
    },
  ),
  scenario(
    'an answer to a long-running call as JSON text',
    {},
    {
      turns: ['go', answer({ silent: { response: '{"status": "approved", "ticket": 1}' } })],
    },
  ),
  scenario(
    'a rejection of a long-running call, and other work then',
    { tools: ['silent', 'count'] },
    {
      parts: {
        root: llm('root', { tools: ['silent', 'count'] }),
        silent,
        count: tool('count', () => ({ n: 3 })),
      },
      script: { root: [call('silent'), call('count'), say('three instead')] },
      turns: ['go', answer({ silent: { status: 'rejected' } })],
    },
  ),
  scenario(
    'a long-running tool with a first result that skips the summary',
    {},
    {
      parts: {
        root: llm('root', { tools: ['silent'] }),
        silent: longRunning('silent', (_args, { actions }) => {
          actions.skipSummarization = true;
          return { status: 'pending' };
        }),
      },
      script: { root: [call('silent'), say('approved')] },
    },
  ),
  scenario(
    'a long-running call in a sequence that is answered, and the next turn',
    {},
    {
      differs: ['B4', 'D47'],
      parts: {
        line: sequence('line', 'root', 'last'),
        root: llm('root', { tools: ['silent'], outputKey: 'said' }),
        last: llm('last', { instruction: '«{said?}»' }),
        silent,
      },
      root: 'line',
      script: { root: [call('silent'), say('approved'), say('again')], last: [say('1'), say('2'), say('3')] },
      turns: ['go', answer({ silent: yes }), 'more'],
    },
  ),
  scenario(
    'state of a silent long-running tool beside a call with a result',
    {},
    {
      differs: ['B21', 'D10', 'D41'],
      parts: {
        root: llm('root', { tools: ['silent', 'count'] }),
        silent: noting,
        count: tool('count', () => ({ n: 3 })),
      },
      script: { root: [calls('silent', 'count'), say('three'), say('approved')] },
    },
  ),
];
