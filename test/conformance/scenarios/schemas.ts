import { z } from 'zod';
import type { Scenario } from '../kit.ts';
import { asked, call, confirm, gated, llm, say, sequence, to, tool, words } from './parts.ts';

const outputSchema = z.object({ city: z.string(), degrees: z.number() });
const fits = { city: 'Oslo', degrees: 3 };
const five = tool('five', () => 5);
const json = (value: unknown) => say(JSON.stringify(value));
const respond = (args: Record<string, unknown>) => call('set_model_response', args);

const scenario = (
  name: string,
  script: Scenario['script'][string],
  more: Partial<Scenario> & { options?: object } = {},
): Scenario => {
  const { options, ...rest } = more;
  return {
    name,
    section: '§3.6',
    parts: { root: llm('root', { outputSchema, outputKey: 'said', ...options }), five },
    root: 'root',
    script: { root: script },
    turns: ['go'],
    ...rest,
  };
};

export const schemaScenarios: Scenario[] = [
  scenario(
    'an answer in a form beside another call',
    [
      {
        calls: [
          { name: 'five', args: {} },
          { name: 'set_model_response', args: fits },
        ],
      },
      respond(fits),
      json(fits),
    ],
    { differs: ['D54'], options: { tools: ['five'] } },
  ),
  scenario('an answer in a form in a fence', [say(`\`\`\`json\n${JSON.stringify(fits)}\n\`\`\``)], {
    differs: ['D55'],
  }),
  scenario('an answer in a form of an agent with sub-agents and no tools', [json(fits), respond(fits)], {
    differs: ['D56'],
    parts: {
      root: llm('root', { outputSchema, outputKey: 'said', subAgents: ['helper'] }),
      helper: llm('helper'),
    },
  }),
  scenario('an answer in a form with more than it asks for', [json({ ...fits, wind: 'west' })]),
  scenario('an answer in a form as a list', [json([fits, fits])], {
    differs: ['D62'],
    options: { outputSchema: z.array(outputSchema) },
  }),
  scenario(
    'an answer in a form with objects within objects',
    [json({ where: { city: 'Oslo' }, days: [{ n: 1 }, { n: 2 }] })],
    {
      options: {
        outputSchema: z.object({
          where: z.object({ city: z.string() }),
          days: z.array(z.object({ n: z.number() })),
        }),
      },
    },
  ),
  scenario(
    'an answer in a form that is streamed',
    [{ text: JSON.stringify(fits), chunks: ['{"city":"Oslo",', '"degrees":3}'] }],
    {
      streaming: true,
    },
  ),
  scenario('an answer in a form that a callback gives', [], {
    options: { beforeModelCallback: () => ({ content: words(JSON.stringify(fits)) }) },
  }),
  scenario('an answer in a form, read by the next step', [], {
    parts: {
      line: sequence('line', 'one', 'two'),
      one: llm('one', { outputSchema, outputKey: 'weather' }),
      two: llm('two', { instruction: '«{weather}»' }),
    },
    root: 'line',
    script: { one: [json(fits)], two: [say('cold')] },
  }),
  scenario('an answer in a form after a question to a person', [call('pay'), respond(fits)], {
    parts: {
      root: llm('root', { outputSchema, outputKey: 'said', tools: ['pay'] }),
      pay: gated('pay', () => ({ paid: true })),
    },
    turns: ['go', confirm()],
  }),
  scenario('an answer in a form after two tools', [call('five'), call('five'), respond(fits)], {
    options: { tools: ['five'] },
  }),
  scenario(
    'an answer in a form that is given in words although there are tools',
    [call('five'), json(fits)],
    {
      options: { tools: ['five'] },
    },
  ),
  scenario('an agent as a tool with forms for both ways', [], {
    parts: {
      root: llm('root', { tools: [asked('child')], outputKey: 'said' }),
      child: llm('child', { inputSchema: z.object({ city: z.string() }), outputSchema }),
    },
    script: { root: [call('child', { city: 'Oslo' }), say('cold')], child: [json(fits)] },
  }),
  scenario('an agent as a tool whose answer does not fit its form', [], {
    differs: ['D2', 'B7'],
    parts: { root: llm('root', { tools: [asked('child')] }), child: llm('child', { outputSchema }) },
    script: { root: [call('child', { request: 'x' }), say('pity')], child: [json({ city: 5 })] },
  }),
  scenario('an answer in a form of an agent that got the conversation', [], {
    parts: {
      boss: llm('boss', { subAgents: ['root'] }),
      root: llm('root', { outputSchema, outputKey: 'said' }),
    },
    root: 'boss',
    script: { boss: [to('root'), say('back')], root: [json(fits)] },
    turns: ['go', 'and?'],
  }),
  scenario('outputKey in each round of a loop', [], {
    parts: {
      round: (kit) => new kit.LoopAgent({ name: 'round', maxIterations: 2, subAgents: [kit.agent('one')] }),
      one: llm('one', { outputKey: 'draft', instruction: '«{draft?}»' }),
    },
    root: 'round',
    script: { one: [say('bad'), say('good')] },
  }),
  scenario('outputKey of an agent as a tool', [], {
    parts: {
      root: llm('root', { tools: [asked('child')], instruction: '«{draft?}»' }),
      child: llm('child', { outputKey: 'draft' }),
    },
    script: { root: [call('child', { request: 'x' }), say('ok')], child: [say('a draft')] },
  }),
  scenario('outputKey of an answer in pieces', [{ chunks: ['a', ' draft'] }], {
    options: { outputSchema: undefined },
    streaming: true,
  }),
  scenario(
    'a tool whose parameters are one of several objects',
    [call('move', { way: { kind: 'by', car: 'red' } }), say('ok')],
    {
      section: '§5.2',
      differs: ['D69'],
      parts: {
        root: llm('root', { tools: ['move'] }),
        move: (kit) =>
          new kit.FunctionTool({
            name: 'move',
            description: 'does move',
            parameters: z.object({
              way: z.discriminatedUnion('kind', [
                z.object({ kind: z.literal('by'), car: z.string() }),
                z.object({ kind: z.literal('on'), foot: z.boolean() }),
              ]),
              steps: z.number().multipleOf(5).optional(),
            }),
            execute: ({ way }) => way,
          }),
      },
    },
  ),
  scenario(
    'a picture in a stream',
    [
      {
        parts: [{ text: 'look' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }, { text: 'nice' }],
      },
    ],
    {
      section: '§1.5',
      differs: ['D70'],
      parts: { root: llm('root') },
      streaming: true,
    },
  ),
];
