import type { Scenario } from '../kit.ts';
import {
  asked,
  call,
  calls,
  confirm,
  gated,
  llm,
  loop,
  note,
  noteIn,
  parallel,
  plugin,
  say,
  sequence,
  to,
  tool,
  words,
} from './parts.ts';

const fails = { error: { status: 400, message: 'no' } };
const five = tool('five', () => 5);

const scenario = (
  name: string,
  script: Scenario['script'][string],
  more: Partial<Scenario> & { options?: object } = {},
): Scenario => {
  const { options, ...rest } = more;
  return {
    name,
    section: '§2.7',
    parts: { root: llm('root', { tools: ['five'], ...options }), five },
    root: 'root',
    script: { root: script },
    turns: ['hi', 'and now?'],
    ...rest,
  };
};

export const failingModelScenarios: Scenario[] = [
  scenario(
    'a stream that breaks off in the middle',
    [{ chunks: ['one', ' two', ' three'], cutAfter: 1 }, say('better now')],
    {
      streaming: true,
    },
  ),
  scenario('a stream that fails before its first piece', [fails, { chunks: ['better', ' now'] }], {
    streaming: true,
  }),
  scenario('a stream that fails after a tool', [call('five'), fails, say('better now')], {
    differs: ['D15'],
    streaming: true,
  }),
  scenario(
    'an answer that ends for recitation',
    [{ text: 'once upon', finishReason: 'RECITATION' }, say('sorry')],
    { differs: ['D80'] },
  ),
  scenario('a model that fails within a loop', [], {
    parts: { round: loop('round', 2, 'one', 'two'), one: llm('one'), two: llm('two') },
    root: 'round',
    script: { one: [fails, say('1')], two: [say('2'), say('2 again')] },
    turns: ['go'],
  }),
  scenario('a model that fails within a sequence, with callbacks around it', [], {
    parts: {
      line: sequence('line', 'one', 'two'),
      one: llm('one', { afterAgentCallback: note('one after'), outputKey: 'said' }),
      two: llm('two', { instruction: '«{said?}»' }),
    },
    root: 'line',
    script: { one: [fails], two: [say('2')] },
    turns: ['go'],
  }),
  scenario('a model that fails for an agent as a tool', [], {
    differs: ['B7'],
    parts: { root: llm('root', { tools: [asked('child')] }), child: llm('child') },
    script: { root: [call('child', { request: 'x' }), say('pity')], child: [fails] },
    turns: ['go'],
  }),
  scenario('a model that fails after a transfer, and the next turn', [], {
    parts: { boss: llm('boss', { subAgents: ['helper'] }), helper: llm('helper') },
    root: 'boss',
    script: { boss: [to('helper')], helper: [fails, say('better now')] },
  }),
  scenario('a model that fails after a person has confirmed', [call('pay'), fails, say('paid')], {
    differs: ['D63'],
    parts: { root: llm('root', { tools: ['pay'] }), pay: gated('pay', () => ({ paid: true })) },
    turns: ['go', confirm(), 'and?'],
  }),
  scenario('a model that fails in both of two branches', [], {
    differs: ['B10'],
    parts: { fan: parallel('fan', 'left', 'right'), left: llm('left'), right: llm('right') },
    root: 'fan',
    script: { left: [fails], right: [fails] },
    turns: ['go'],
    inParallel: true,
  }),
  scenario('a plugin for a model that fails within a sequence', [], {
    differs: ['D17'],
    parts: { line: sequence('line', 'one', 'two'), one: llm('one'), two: llm('two') },
    root: 'line',
    script: { one: [fails, fails], two: [say('2')] },
    turns: ['go'],
    plugins: (kit) => [
      plugin('one', { onModelErrorCallback: async () => ({ content: words('another time') }) })(kit),
    ],
  }),
  scenario('a callback after a model that fails', [fails, say('better now')], {
    options: { afterModelCallback: noteIn('after') },
  }),
  scenario('a callback that takes away what the model said', [say('secret'), say('spare')], {
    differs: ['D57'],
    options: { afterModelCallback: () => ({}) },
    turns: ['go'],
  }),
  scenario('a callback that empties what the model said', [say('secret'), say('spare')], {
    differs: ['D80'],
    options: { afterModelCallback: () => ({ content: { role: 'model', parts: [{ text: '' }] } }) },
    turns: ['go'],
  }),
  scenario('a call of an unknown tool beside a known one', [calls('five', 'six'), say('five')], {
    differs: ['B9'],
    turns: ['go'],
  }),
  scenario('a call of an unknown tool in a sequence', [], {
    differs: ['B9'],
    parts: {
      line: sequence('line', 'one', 'two'),
      one: llm('one', { tools: ['five'] }),
      two: llm('two'),
      five,
    },
    root: 'line',
    script: { one: [call('six'), say('well')], two: [say('2')] },
    turns: ['go'],
  }),
  scenario(
    'an event whose first part is an empty text',
    [{ parts: [{ text: '' }, { functionCall: { name: 'five', args: {} } }] }, say('five')],
    { differs: ['D58', 'D80'], turns: ['go'] },
  ),
  scenario(
    'a thought before a call in a stream',
    [{ parts: [{ text: 'hm', thought: true }, { functionCall: { name: 'five', args: {} } }] }, say('five')],
    { differs: ['D15'], streaming: true, turns: ['go'] },
  ),
  scenario('the limit of model calls within a loop', [], {
    parts: { round: loop('round', 5, 'one'), one: llm('one') },
    root: 'round',
    script: { one: [say('1'), say('2'), say('3'), say('4'), say('5')] },
    maxLlmCalls: 2,
    turns: ['go'],
  }),
  scenario('an instruction that throws', [say('never')], {
    options: {
      instruction: () => {
        throw new Error('no');
      },
    },
    turns: ['go'],
  }),
  scenario('an instruction that is made of the state', [say('one'), say('two')], {
    options: {
      instruction: async ({ state }: { state: { get(key: string): unknown } }) => `«${state.get('n') ?? 0}»`,
    },
    turns: [
      { say: 'go', stateDelta: { n: 1 } },
      { say: 'again', stateDelta: { n: 2 } },
    ],
  }),
  scenario('an instruction that writes to the state', [say('one')], {
    differs: ['D59'],
    options: {
      instruction: ({ state }: { state: { set(key: string, value: unknown): void } }) => {
        state.set('seen', true);
        return '«seen»';
      },
    },
    turns: ['go'],
  }),
  scenario('a message without words', [say('what?')], { turns: [{ role: 'user', parts: [] }] }),
  scenario('no message at all', [say('what?')], { differs: ['D60'], turns: [() => undefined as never] }),
  scenario('a message with a call of its own', [say('what?')], {
    differs: ['D61'],
    turns: [{ role: 'user', parts: [{ functionCall: { name: 'five', args: {} } }] }],
  }),
];
