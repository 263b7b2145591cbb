import type { Scenario } from '../kit.ts';
import { call, llm, say, sequence, tool } from './parts.ts';

const write = tool('write', (args, { state }) => {
  state.update(args);
  return { ok: true };
});
const read = tool('read', ({ keys }, { state }) =>
  Object.fromEntries((keys as string[]).map((key) => [key, state.get(key) ?? 'none'])),
);
const all = { plain: 1, 'user:u': 2, 'app:a': 3, 'temp:t': 4 };
const keys = Object.keys(all);

export const stateScenarios: Scenario[] = [
  {
    name: 'state in four scopes, over two turns',
    section: '§2.4',
    parts: { root: llm('root', { tools: ['write', 'read'] }), write, read },
    root: 'root',
    script: {
      root: [call('write', all), call('read', { keys }), say('ok'), call('read', { keys }), say('ok')],
    },
    turns: ['go', 'again'],
  },
  {
    name: 'state in four scopes, over two sessions',
    section: '§2.4',
    parts: { root: llm('root', { tools: ['write', 'read'] }), write, read },
    root: 'root',
    script: { root: [call('write', all), say('ok'), call('read', { keys }), say('ok')] },
    turns: ['go', { say: 'again', session: 'another' }],
  },
  {
    name: 'passing state from agent to agent',
    section: '§2.4',
    parts: {
      line: sequence('line', 'first', 'second'),
      first: llm('first', { tools: ['write'] }),
      second: llm('second', { tools: ['read'], instruction: '«{temp:t} {plain}»' }),
      write,
      read,
    },
    root: 'line',
    script: { first: [call('write', all), say('ok')], second: [call('read', { keys }), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'values of all kinds, and null for what was there',
    section: '§2.4',
    parts: { root: llm('root', { tools: ['write', 'read'] }), write, read },
    root: 'root',
    script: {
      root: [
        call('write', {
          gone: null,
          'user:gone': null,
          list: [1, { a: null }],
          no: false,
          zero: 0,
          '': 'empty',
        }),
        call('read', { keys: ['gone', 'list'] }),
        say('ok'),
      ],
    },
    turns: ['go'],
    state: { gone: 'here' },
  },
  {
    name: 'two tools of one turn write the same key',
    section: '§1.3',
    parts: {
      root: llm('root', { tools: ['write'] }),
      write,
    },
    root: 'root',
    script: {
      root: [
        {
          calls: [
            { name: 'write', args: { a: 1, b: 1 } },
            { name: 'write', args: { a: 2 } },
          ],
        },
        say('ok'),
      ],
    },
    turns: ['go'],
  },
  {
    name: 'state that comes with a message',
    section: '§2.4',
    parts: { root: llm('root', { instruction: '«{lang} {user:name}»' }) },
    root: 'root',
    script: { root: [say('salve')] },
    turns: [{ say: 'hi', stateDelta: { lang: 'Latin', 'user:name': 'Ann' } }],
  },
  {
    name: 'passing state that comes with a message',
    section: '§2.4',
    differs: ['B19'],
    parts: { root: llm('root', { instruction: '«{temp:lang?}»' }) },
    root: 'root',
    script: { root: [say('salve')] },
    turns: [{ say: 'hi', stateDelta: { 'temp:lang': 'Latin' } }],
  },
];
