import type { Context } from '@agentmesh/agent';
import type { Scenario } from '../kit.ts';
import {
  asked,
  call,
  gated,
  llm,
  note,
  noteIn,
  parallel,
  read,
  say,
  sequence,
  to,
  tool,
  write,
} from './parts.ts';

const writes = (args: Record<string, unknown>) => ({ name: 'write', args });
const reads = (...keys: string[]) => ({ name: 'read', args: { keys } });

const scenario = (
  name: string,
  script: Scenario['script'][string],
  more: Partial<Scenario> & { options?: object } = {},
): Scenario => {
  const { options, ...rest } = more;
  return {
    name,
    section: '§2.4',
    parts: { root: llm('root', { tools: ['write', 'read'], ...options }), write, read },
    root: 'root',
    script: { root: script },
    turns: ['go'],
    ...rest,
  };
};
const oneByOne = { toolExecution: 'sequential' };

export const sharedStateScenarios: Scenario[] = [
  scenario(
    'calls of one turn that are made one after the other share temp: state',
    [{ calls: [writes({ 'temp:t': 1, plain: 2 }), reads('temp:t', 'plain')] }, say('ok')],
    { options: oneByOne },
  ),
  scenario(
    'the third call of a turn sees what the first two wrote',
    [
      { calls: [writes({ 'user:a': 1 }), writes({ 'app:b': 2, 'user:a': 3 }), reads('user:a', 'app:b')] },
      say('ok'),
    ],
    { options: oneByOne },
  ),
  scenario(
    'calls made one after the other, of which one throws and one asks',
    [{ calls: [writes({ a: 1 }), { name: 'fail' }, { name: 'pay' }, reads('a')] }, say('ok')],
    {
      differs: ['B2'],
      parts: {
        root: llm('root', { tools: ['write', 'fail', 'pay', 'read'], ...oneByOne }),
        write,
        read,
        fail: tool('fail', () => {
          throw new Error('no');
        }),
        pay: gated('pay', () => ({ paid: true })),
      },
    },
  ),
  scenario('passing state from one step of an agent to the next', [
    call('write', { 'temp:t': 1 }),
    call('read', { keys: ['temp:t'] }),
    say('ok'),
  ]),
  scenario(
    'preferences of a user that are changed in place and set again',
    [
      call('prefer', { color: 'blue' }),
      call('prefer', { size: 'large' }),
      call('read', { keys: ['user:prefs'] }),
      say('ok'),
    ],
    {
      parts: {
        root: llm('root', { tools: ['prefer', 'read'] }),
        read,
        prefer: tool('prefer', (args, { state }) => {
          const prefs = state.get<Record<string, unknown>>('user:prefs', {}) ?? {};
          Object.assign(prefs, args);
          state.set('user:prefs', prefs);
          return { count: Object.keys(prefs).length };
        }),
      },
    },
  ),
  scenario(
    'a value that is changed in place and not set again',
    [call('push'), call('read', { keys: ['list'] }), say('ok')],
    {
      differs: ['D49'],
      state: { list: [1] },
      parts: {
        root: llm('root', { tools: ['push', 'read'] }),
        read,
        push: tool('push', (_args, { state }) => {
          state.get<number[]>('list')?.push(2);
          return { sees: state.get('list') };
        }),
      },
    },
  ),
  scenario('passing state under outputKey', [], {
    differs: ['D50'],
    parts: {
      line: sequence('line', 'one', 'two'),
      one: llm('one', { outputKey: 'temp:draft' }),
      two: llm('two', { instruction: '«{temp:draft?}»' }),
    },
    root: 'line',
    script: { one: [say('a draft')], two: [say('ok')] },
  }),
  scenario('state of a user under outputKey, in another session', [], {
    parts: { root: llm('root', { outputKey: 'user:last', instruction: '«{user:last?}»' }) },
    script: { root: [say('one'), say('two')] },
    turns: ['go', { say: 'again', session: 'another' }],
  }),
  scenario('state of the app that a message brings, in another session', [say('one'), say('two')], {
    options: { instruction: '«{app:mood?}»' },
    turns: [
      { say: 'go', stateDelta: { 'app:mood': 'good' } },
      { say: 'again', session: 'another' },
    ],
  }),
  scenario('branches that write different keys, and one that reads them', [], {
    parts: {
      line: sequence('line', 'fan', 'last'),
      fan: parallel('fan', 'left', 'right'),
      left: llm('left', { tools: ['write'] }),
      right: llm('right', { tools: ['write'] }),
      last: llm('last', { instruction: '«{a} {temp:b}»' }),
      write,
    },
    root: 'line',
    script: {
      left: [call('write', { a: 1 }), say('L')],
      right: [call('write', { 'temp:b': 2 }), say('R')],
      last: [say('both')],
    },
    inParallel: true,
  }),
  scenario('a tool of an agent as a tool reads passing state of its caller', [], {
    differs: ['D4'],
    parts: {
      root: llm('root', { tools: ['write', asked('child')] }),
      child: llm('child', { tools: ['read'] }),
      write,
      read,
    },
    script: {
      root: [call('write', { 'temp:t': 1, plain: 2 }), call('child', { request: 'x' }), say('ok')],
      child: [call('read', { keys: ['temp:t', 'plain'] }), say('seen')],
    },
  }),
  scenario('callbacks write what a tool reads', [call('read', { keys: ['calls'] }), say('ok')], {
    options: {
      beforeAgentCallback: note('agent'),
      beforeModelCallback: noteIn('model'),
      beforeToolCallback: noteIn('tool'),
    },
  }),
  scenario(
    'a callback changes a value in place, and its tool sees it',
    [call('read', { keys: ['list'] }), say('ok')],
    {
      state: { list: [1] },
      options: {
        beforeToolCallback: ({ context }: { context: Context }) => {
          context.state.get<number[]>('list')?.push(2);
          return undefined;
        },
      },
    },
  ),
  scenario('state that is taken back', [call('write', { a: null, 'user:b': null }), say('ok'), say('gone')], {
    differs: ['D5'],
    state: { a: 1, 'user:b': 2 },
    options: { instruction: '«{a?} {user:b?}»' },
    turns: ['go', 'and?'],
  }),
  scenario('an agent that hands over has written to the state', [], {
    parts: {
      root: llm('root', { tools: ['write'], subAgents: ['helper'] }),
      helper: llm('helper', { tools: ['read'], instruction: '«{temp:t?}»' }),
      write,
      read,
    },
    script: {
      root: [call('write', { 'temp:t': 1, 'user:u': 2 }), to('helper')],
      helper: [call('read', { keys: ['temp:t', 'user:u'] }), say('seen')],
    },
  }),
  scenario('the same key written by an agent in each round of a loop', [], {
    parts: {
      round: (kit) => new kit.LoopAgent({ name: 'round', maxIterations: 3, subAgents: [kit.agent('root')] }),
      root: llm('root', { tools: ['add'], instruction: '«{n?}»' }),
      add: tool('add', (_args, { state }) => {
        const n = (state.get<number>('n') ?? 0) + 1;
        state.set('n', n);
        return { n };
      }),
    },
    root: 'round',
    script: { root: [call('add'), say('1'), call('add'), say('2'), call('add'), say('3')] },
  }),
  scenario('what a tool asks about its state', [call('look'), say('ok')], {
    state: { a: 1, 'user:b': 2 },
    parts: {
      root: llm('root', { tools: ['look'] }),
      look: tool('look', (_args, { state }) => {
        const before = state.hasDelta();
        state.set('c', 3);
        return {
          before,
          after: state.hasDelta(),
          has: [state.has('a'), state.has('z')],
          all: state.toRecord(),
        };
      }),
    },
  }),
  scenario('shared state that an agent below an asked agent wrote', [], {
    differs: ['D4'],
    parts: {
      root: llm('root', { tools: ['read', asked('child')], instruction: '«{user:u?}»' }),
      child: llm('child', { tools: [asked('grandchild')] }),
      grandchild: llm('grandchild', { tools: ['write'] }),
      write,
      read,
    },
    script: {
      root: [call('child', { request: 'x' }), call('read', { keys: ['user:u', 'app:a'] }), say('ok')],
      child: [call('grandchild', { request: 'y' }), say('asked')],
      grandchild: [call('write', { 'user:u': 1, 'app:a': 2 }), say('written')],
    },
  }),
];
