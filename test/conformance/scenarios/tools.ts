import { z } from 'zod';
import type { Kit, Scenario } from '../kit.ts';

const root =
  (tools: string[], more: object = {}) =>
  (kit: Kit) =>
    new kit.LlmAgent({ name: 'root', model: kit.model('root'), tools: tools.map(kit.tool), ...more });

const tool =
  (name: string, execute: (args: Record<string, unknown>, context?: never) => unknown) => (kit: Kit) =>
    new kit.FunctionTool({ name, description: `does ${name}`, execute: execute as never });

const weather = (kit: Kit) =>
  new kit.FunctionTool({
    name: 'weather',
    description: 'Tells the weather.',
    parameters: z.object({
      city: z.string().describe('Name of the city.'),
      unit: z.enum(['C', 'F']).default('C'),
      days: z.number().int().optional(),
    }),
    execute: ({ city, unit }) => ({ city, unit, degrees: 3 }),
  });

const one = (call: string, args: Record<string, unknown> = {}) => ({ calls: [{ name: call, args }] });

export const toolScenarios: Scenario[] = [
  {
    name: 'a plain answer',
    section: '§3.2',
    parts: { root: root([]) },
    root: 'root',
    script: { root: [{ text: 'hello' }] },
    turns: ['hi'],
  },
  {
    name: 'a tool with typed parameters',
    section: '§5.2',
    parts: { root: root(['weather']), weather },
    root: 'root',
    script: { root: [one('weather', { city: 'Oslo' }), { text: '3 degrees' }] },
    turns: ['how is it in Oslo?'],
  },
  {
    name: 'a missing argument is told to the model, which mends it',
    section: '§3.7',
    parts: { root: root(['weather']), weather },
    root: 'root',
    script: { root: [one('weather'), one('weather', { city: 'Rome', unit: 'F' }), { text: 'ok' }] },
    turns: ['weather?'],
  },
  {
    name: 'a scalar result is wrapped',
    section: '§3.7',
    parts: { root: root(['five']), five: tool('five', () => 5) },
    root: 'root',
    script: { root: [one('five'), { text: 'ok' }] },
    turns: ['go'],
  },
  {
    name: 'a list result is wrapped',
    section: '§3.7',
    parts: { root: root(['list']), list: tool('list', () => ['a', 'b']) },
    root: 'root',
    script: { root: [one('list'), { text: 'ok' }] },
    turns: ['go'],
  },
  {
    name: 'a tool that throws',
    section: '§2.7',
    parts: {
      root: root(['bad']),
      bad: tool('bad', () => {
        throw new Error('disk full');
      }),
    },
    root: 'root',
    script: { root: [one('bad'), { text: 'pity' }] },
    turns: ['go'],
  },
  {
    name: 'an unknown tool',
    section: '§3.7',
    parts: { root: root(['five']), five: tool('five', () => 5) },
    root: 'root',
    script: { root: [one('six'), { text: 'then not' }] },
    turns: ['go'],
    differs: ['B9'],
  },
  {
    name: 'two calls of one turn, answered in the order of the calls',
    section: '§3.7',
    parts: {
      root: root(['one', 'two']),
      one: tool('one', () => ({ n: 1 })),
      two: tool('two', () => ({ n: 2 })),
    },
    root: 'root',
    script: {
      root: [
        {
          calls: [
            { name: 'one', args: {} },
            { name: 'two', args: {} },
          ],
        },
        { text: 'ok' },
      ],
    },
    turns: ['go'],
  },
  {
    name: 'state in three scopes',
    section: '§2.4',
    parts: {
      root: root(['write', 'read']),
      write: (kit) =>
        new kit.FunctionTool({
          name: 'write',
          description: 'writes',
          execute: (_args, context) => {
            context?.state.set('plain', 1);
            context?.state.set('user:u', 2);
            context?.state.set('app:a', 3);
            context?.state.set('temp:t', 4);
            return { ok: true };
          },
        }),
      read: (kit) =>
        new kit.FunctionTool({
          name: 'read',
          description: 'reads',
          execute: (_args, context) => ({
            t: context?.state.get('temp:t') ?? 'none',
            p: context?.state.get('plain'),
          }),
        }),
    },
    root: 'root',
    script: { root: [one('write'), one('read'), { text: 'ok' }, one('read'), { text: 'ok' }] },
    turns: ['go', 'again'],
  },
  {
    name: 'a tool that skips the summary',
    section: '§1.4',
    parts: {
      root: root(['final']),
      final: (kit) =>
        new kit.FunctionTool({
          name: 'final',
          description: 'final',
          execute: (_args, context) => {
            if (context) context.actions.skipSummarization = true;
            return { done: true };
          },
        }),
    },
    root: 'root',
    script: { root: [one('final')] },
    turns: ['go'],
  },
  {
    name: 'a long-running tool with a ticket, answered later',
    section: '§5.3',
    parts: {
      root: root(['approve']),
      approve: (kit) =>
        new kit.LongRunningFunctionTool({
          name: 'approve',
          description: 'asks for approval',
          execute: () => ({ status: 'pending', ticket: 't-1' }),
        }),
    },
    root: 'root',
    script: { root: [one('approve'), { text: 'waiting' }, { text: 'approved' }] },
    turns: [
      'go',
      (events) => {
        const call = events
          .flatMap(({ content }) => content?.parts ?? [])
          .find(({ functionCall }) => functionCall);
        const id = call?.functionCall?.id ?? '';
        return {
          role: 'user',
          parts: [
            { functionResponse: { id, name: 'approve', response: { status: 'approved', ticket: 't-1' } } },
          ],
        };
      },
    ],
  },
  {
    name: 'an instruction filled from the state',
    section: '§3.4',
    parts: { root: root([], { instruction: 'Speak {lang}.' }) },
    root: 'root',
    script: { root: [{ text: 'salve' }] },
    turns: ['hi'],
    state: { lang: 'Latin' },
  },
  {
    name: 'an instruction whose key is missing',
    section: '§3.4',
    parts: { root: root([], { instruction: 'Speak {lang}.' }) },
    root: 'root',
    script: { root: [] },
    turns: ['hi'],
  },
  {
    name: 'the answer is kept under outputKey',
    section: '§3.6',
    parts: { root: root([], { outputKey: 'answer' }) },
    root: 'root',
    script: { root: [{ text: 'forty-two' }] },
    turns: ['hi'],
  },
  {
    name: 'a model that fails',
    section: '§2.7',
    parts: { root: root([]) },
    root: 'root',
    script: { root: [{ error: { status: 400, message: 'no' } }, { text: 'better now' }] },
    turns: ['hi', 'and now?'],
  },
  {
    name: 'pieces of an answer, then the whole',
    section: '§1.5',
    parts: { root: root([]) },
    root: 'root',
    script: { root: [{ text: 'one two', chunks: ['one', ' two'] }] },
    turns: ['hi'],
    streaming: true,
  },
  {
    name: 'the limit of model calls',
    section: '§2.6',
    parts: { root: root(['five']), five: tool('five', () => 5) },
    root: 'root',
    script: { root: [one('five'), one('five'), one('five')] },
    turns: ['go'],
    maxLlmCalls: 2,
  },
  {
    name: 'includeContents none shows the current turn alone',
    section: '§3.5',
    parts: { root: root(['five'], { includeContents: 'none' }), five: tool('five', () => 5) },
    root: 'root',
    script: { root: [{ text: 'first' }, one('five'), { text: 'second' }] },
    turns: ['one', 'two'],
  },
];
