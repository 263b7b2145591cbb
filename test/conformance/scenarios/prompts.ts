import type { ReadonlyContext } from '@agentmesh/agent';
import { HarmBlockThreshold, HarmCategory } from '@google/genai';
import type { Scenario } from '../kit.ts';
import { call, llm, say, to, tool } from './parts.ts';

const five = tool('five', () => 5);

const told = (
  name: string,
  instruction: unknown,
  state: Record<string, unknown> = {},
  more: Partial<Scenario> = {},
): Scenario => ({
  name,
  section: '§3.4',
  parts: { root: llm('root', { instruction }) },
  root: 'root',
  script: { root: [say('salve')] },
  turns: ['hi'],
  state,
  ...more,
});

export const promptScenarios: Scenario[] = [
  told('an instruction filled from the state', '«Speak {lang}, {not}.»', {
    lang: 'Latin',
    not: { a: [1, true] },
  }),
  told('an instruction whose key is missing', '«Speak {lang}.»'),
  told('an instruction whose key may be missing', '«Speak {lang?} or {other?}.»', { lang: 'Latin' }),
  told('a key that may be missing here and must be there further on', '«{lang?} and {lang}»'),
  told('an instruction whose key is null', '«Speak {lang}.»', { lang: null }, { differs: ['D5'] }),
  told('braces that are no key', '«{"a": 1} {a b} {a.b} {} {1} {{"a": 1}} { lang } {x:lang}»', {
    lang: 'Latin',
  }),
  told(
    'a key in double braces',
    '«{{lang}} {{{lang}}} {{lang?}} {lang}»',
    { lang: 'Latin' },
    { differs: ['D86'] },
  ),
  told(
    'an instruction that is made at every step',
    async ({ state }: ReadonlyContext) => `«Speak ${state.get('lang')} {lang}.»`,
    {
      lang: 'Latin',
    },
  ),
  {
    name: 'an instruction that reads shared and passing state',
    section: '§3.4',
    parts: {
      root: llm('root', { instruction: '«{app:a?} {user:u?} {temp:t?} {plain?}»', tools: ['write'] }),
      write: tool('write', (_args, { state }) => {
        for (const key of ['app:a', 'user:u', 'temp:t', 'plain']) state.set(key, key);
        return {};
      }),
    },
    root: 'root',
    script: { root: [call('write'), say('ok'), say('ok')] },
    turns: ['go', 'again'],
  },
  {
    name: 'a global instruction comes before an own one',
    section: '§3.3',
    parts: { root: llm('root', { instruction: '«Be {how}.»', globalInstruction: '«All speak {lang}.»' }) },
    root: 'root',
    script: { root: [say('salve')] },
    turns: ['hi'],
    state: { lang: 'Latin', how: 'brief' },
  },
  {
    name: 'what is asked of the model beside the words',
    section: '§3.3',
    parts: {
      root: llm('root', {
        generateContentConfig: {
          temperature: 0.3,
          topP: 0.5,
          topK: 7,
          seed: 4,
          maxOutputTokens: 99,
          stopSequences: ['END'],
          thinkingConfig: { thinkingBudget: 0 },
          safetySettings: [
            { category: HarmCategory.HARM_CATEGORY_HARASSMENT, threshold: HarmBlockThreshold.BLOCK_NONE },
          ],
        },
        tools: ['five'],
      }),
      five,
    },
    root: 'root',
    script: { root: [call('five'), say('5')] },
    turns: ['hi'],
  },
  {
    name: 'a message of several parts',
    section: '§3.5',
    parts: { root: llm('root') },
    root: 'root',
    script: { root: [say('a dot')] },
    turns: [
      {
        role: 'user',
        parts: [
          { text: 'what is this?' },
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
          { text: 'quick' },
        ],
      },
    ],
  },
  {
    name: 'includeContents none shows the current turn alone',
    section: '§3.5',
    parts: { root: llm('root', { tools: ['five'], includeContents: 'none' }), five },
    root: 'root',
    script: { root: [say('first'), call('five'), call('five'), say('second')] },
    turns: ['one', 'two'],
  },
  {
    name: 'includeContents none after a transfer',
    section: '§3.5',
    parts: {
      boss: llm('boss', { subAgents: ['helper'], tools: ['five'] }),
      helper: llm('helper', { includeContents: 'none', tools: ['five'] }),
      five,
    },
    root: 'boss',
    script: { boss: [call('five'), to('helper')], helper: [call('five'), say('here'), say('still')] },
    turns: ['one', 'two'],
  },
  {
    name: "others' words, thoughts, calls and results are told as context",
    section: '§3.5',
    differs: ['D1'],
    parts: {
      boss: llm('boss', { subAgents: ['helper'], tools: ['five'] }),
      helper: llm('helper', { tools: ['five'] }),
      five,
    },
    root: 'boss',
    script: {
      boss: [
        {
          parts: [
            { text: 'hm', thought: true },
            { text: 'let me see' },
            { functionCall: { name: 'five', args: { a: 'ü' } } },
          ],
        },
        to('helper'),
        say('as I said'),
      ],
      helper: [call('five'), { parts: [{ text: 'secret', thought: true }, { text: 'here' }] }, to('boss')],
    },
    turns: ['one', 'two'],
  },
];
