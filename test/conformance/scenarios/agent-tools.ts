import { z } from 'zod';
import type { Scenario } from '../kit.ts';
import { asked, call, calls, llm, longRunning, say, to, tool } from './parts.ts';

const parent = (more: object = {}) => llm('parent', { tools: [asked('child', more)] });
const child = llm('child');
const ask = call('child', { request: 'do it' });

export const agentToolScenarios: Scenario[] = [
  {
    name: 'an agent as a tool',
    section: '§5.4',
    parts: { parent: parent(), child },
    root: 'parent',
    script: { parent: [ask, say('parent says')], child: [say('child says')] },
    turns: ['go'],
  },
  {
    name: 'an agent as a tool begins afresh at every call',
    section: '§5.4',
    differs: ['B8'],
    parts: { parent: parent(), child },
    root: 'parent',
    script: { parent: [ask, ask, say('ok')], child: [say('one'), say('two')] },
    turns: ['go'],
  },
  {
    name: 'an agent as a tool whose answer is final',
    section: '§5.4',
    differs: ['B7'],
    parts: { parent: parent({ skipSummarization: true }), child },
    root: 'parent',
    script: { parent: [ask, say('a summary')], child: [say('child says')] },
    turns: ['go'],
  },
  {
    name: 'an agent as a tool that fails',
    section: '§5.4',
    differs: ['B7'],
    parts: { parent: parent(), child },
    root: 'parent',
    script: { parent: [ask, say('pity')], child: [{ error: { status: 400, message: 'no' } }] },
    turns: ['go'],
  },
  {
    name: 'an agent as a tool that says nothing',
    section: '§5.4',
    differs: ['B7'],
    parts: { parent: parent(), child },
    root: 'parent',
    script: { parent: [ask, say('pity')], child: [{ parts: [] }] },
    turns: ['go'],
  },
  {
    name: 'an agent as a tool sees the state, and its writes come back',
    section: '§5.4',
    differs: ['D4'],
    parts: {
      parent: llm('parent', { instruction: '«{lang} {said?} {user:u?} {temp:t?}»', tools: [asked('child')] }),
      child: llm('child', { instruction: '«Speak {lang}.»', outputKey: 'said', tools: ['write'] }),
      write: tool('write', (_args, { state }) => {
        for (const key of ['plain', 'user:u', 'app:a', 'temp:t']) state.set(key, key);
        return {};
      }),
    },
    root: 'parent',
    script: { parent: [ask, say('ok'), say('ok')], child: [call('write'), say('salve')] },
    turns: ['go', 'again'],
    state: { lang: 'Latin' },
  },
  {
    name: 'an agent as a tool that asks another one',
    section: '§5.4',
    parts: {
      parent: parent(),
      child: llm('child', { tools: [asked('grandchild')] }),
      grandchild: llm('grandchild', { outputKey: 'deep' }),
    },
    root: 'parent',
    script: {
      parent: [ask, say('ok')],
      child: [call('grandchild', { request: 'you do it' }), say('done below')],
      grandchild: [say('done')],
    },
    turns: ['go'],
  },
  {
    name: 'two agents as tools at once',
    section: '§5.4',
    parts: {
      parent: llm('parent', { tools: [asked('child'), asked('other')] }),
      child: llm('child', { outputKey: 'one' }),
      other: llm('other', { outputKey: 'two' }),
    },
    root: 'parent',
    script: {
      parent: [
        {
          calls: [
            { name: 'child', args: { request: 'a' } },
            { name: 'other', args: { request: 'b' } },
          ],
        },
        say('ok'),
      ],
      child: [say('1')],
      other: [say('2')],
    },
    turns: ['go'],
  },
  {
    name: 'an agent as a tool that calls tools',
    section: '§5.4',
    parts: {
      parent: parent(),
      child: llm('child', { tools: ['one', 'two'] }),
      one: tool('one', () => 1),
      two: tool('two', () => 2),
    },
    root: 'parent',
    script: { parent: [ask, say('ok')], child: [calls('one', 'two'), say('three')] },
    turns: ['go'],
  },
  {
    name: 'a sequence as a tool',
    section: '§5.4',
    parts: {
      parent: parent(),
      child: (kit) =>
        new kit.SequentialAgent({
          name: 'child',
          description: 'Two steps.',
          subAgents: [kit.agent('first'), kit.agent('second')],
        }),
      first: llm('first', { outputKey: 'draft' }),
      second: llm('second', { instruction: '«{draft}»' }),
    },
    root: 'parent',
    script: { parent: [ask, say('ok')], first: [say('a draft')], second: [say('edited')] },
    turns: ['go'],
  },
  {
    name: 'an agent as a tool with a form for what it is asked',
    section: '§5.4',
    parts: {
      parent: parent(),
      child: llm('child', { inputSchema: z.object({ city: z.string(), days: z.number().optional() }) }),
    },
    root: 'parent',
    script: { parent: [call('child', { city: 'Oslo' }), say('ok')], child: [say('rain')] },
    turns: ['go'],
  },
  {
    name: 'an agent as a tool with a form for what it answers',
    section: '§5.4',
    parts: { parent: parent(), child: llm('child', { outputSchema: z.object({ degrees: z.number() }) }) },
    root: 'parent',
    script: { parent: [ask, say('ok')], child: [say('{"degrees": 3}')] },
    turns: ['go'],
  },
  {
    name: 'an agent as a tool that waits for somebody',
    section: '§5.4',
    differs: ['B7'],
    parts: {
      parent: parent(),
      child: llm('child', { tools: ['silent'] }),
      silent: longRunning('silent', () => undefined),
    },
    root: 'parent',
    script: { parent: [ask, say('ok')], child: [call('silent')] },
    turns: ['go'],
  },
  {
    name: 'a call of an agent as a tool without its request',
    section: '§5.4',
    differs: ['D7'],
    parts: { parent: parent(), child },
    root: 'parent',
    script: { parent: [call('child'), say('pity')], child: [say('what?')] },
    turns: ['go'],
  },
  {
    name: 'pieces of what an agent as a tool says',
    section: '§5.4',
    differs: ['D20'],
    parts: { parent: parent(), child },
    root: 'parent',
    script: { parent: [ask, { chunks: ['a', ' b'] }], child: [{ chunks: ['c', ' d'] }] },
    turns: ['go'],
    streaming: true,
  },
  {
    name: 'what a tool of an agent as a tool knows',
    section: '§5.7',
    parts: {
      parent: parent(),
      child: llm('child', { tools: ['where'] }),
      where: tool('where', (_args, { agentName, userContent, userId }) => ({
        agentName,
        userContent,
        userId,
      })),
    },
    root: 'parent',
    script: { parent: [ask, say('ok')], child: [call('where'), say('there')] },
    turns: ['go'],
  },
  {
    name: 'an agent that an agent as a tool hands over to',
    section: '§5.4',
    parts: { parent: parent(), child: llm('child', { subAgents: ['other'] }), other: llm('other') },
    root: 'parent',
    script: { parent: [ask, say('ok')], child: [to('other')], other: [say('other says')] },
    turns: ['go'],
  },
];
