import { Type } from '@google/genai';
import { z } from 'zod';
import type { Kit, Scenario } from '../kit.ts';
import { answer, call, calls, llm, say, tool } from './parts.ts';

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

const order = (kit: Kit) =>
  new kit.FunctionTool({
    name: 'order',
    description: 'Orders.',
    parameters: z.object({
      items: z.array(z.object({ sku: z.string(), quantity: z.number().default(1) })),
      address: z.object({ street: z.string(), floor: z.number().optional() }).describe('Where to.'),
      express: z.boolean().optional(),
    }),
    execute: (args) => ({ args }),
  });

const raw = (kit: Kit) =>
  new kit.FunctionTool({
    name: 'raw',
    description: 'Takes what it gets.',
    parameters: {
      type: Type.OBJECT,
      properties: { a: { type: Type.STRING }, b: { type: Type.NUMBER, description: 'B.' } },
      required: ['a'],
    },
    execute: (args) => ({ args }),
  });

const five = tool('five', () => 5);
const one = tool('one', () => ({ n: 1 }));
const fails = tool('fails', () => {
  throw new Error('disk full');
});

export const toolScenarios: Scenario[] = [
  {
    name: 'a tool with typed parameters',
    section: '§5.2',
    parts: { root: llm('root', { tools: ['weather'] }), weather },
    root: 'root',
    script: { root: [call('weather', { city: 'Oslo' }), say('3 degrees')] },
    turns: ['how is it in Oslo?'],
  },
  {
    name: 'lists, objects within objects, and what may be left out',
    section: '§5.2',
    parts: { root: llm('root', { tools: ['order'] }), order },
    root: 'root',
    script: {
      root: [
        call('order', { items: [{ sku: 'a' }, { sku: 'b', quantity: 2 }], address: { street: 's' } }),
        say('ok'),
      ],
    },
    turns: ['go'],
  },
  {
    name: 'a missing argument is told to the model, which mends it',
    section: '§3.7',
    parts: { root: llm('root', { tools: ['weather'] }), weather },
    root: 'root',
    script: { root: [call('weather'), call('weather', { city: 'Rome', unit: 'F' }), say('ok')] },
    turns: ['weather?'],
  },
  {
    name: 'arguments of the wrong type are told to the model',
    section: '§3.7',
    parts: { root: llm('root', { tools: ['weather'] }), weather },
    root: 'root',
    script: { root: [call('weather', { city: 5, unit: 'K' }), say('pity')] },
    turns: ['go'],
  },
  {
    name: 'arguments that nobody asked for are left out',
    section: '§5.2',
    parts: { root: llm('root', { tools: ['order'] }), order },
    root: 'root',
    script: {
      root: [call('order', { items: [], address: { street: 's', planet: 'x' }, colour: 'red' }), say('ok')],
    },
    turns: ['go'],
  },
  {
    name: 'parameters as Gemini has them, arguments as they come',
    section: '§5.2',
    parts: { root: llm('root', { tools: ['raw'] }), raw },
    root: 'root',
    script: { root: [call('raw', { a: 'x', b: 'no number', c: 1 }), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'parameters as Gemini has them, one missing',
    section: '§3.7',
    differs: ['D7'],
    parts: { root: llm('root', { tools: ['raw'] }), raw },
    root: 'root',
    script: { root: [call('raw', { b: 1 }), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'an unknown tool',
    section: '§3.7',
    differs: ['B9'],
    parts: { root: llm('root', { tools: ['five'] }), five },
    root: 'root',
    script: { root: [call('six'), say('then not')] },
    turns: ['go'],
  },
  {
    name: 'two calls of one turn, answered in the order of the calls',
    section: '§3.7',
    parts: { root: llm('root', { tools: ['one', 'five'] }), one, five },
    root: 'root',
    script: { root: [calls('one', 'five'), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'three calls of one turn, of which one fails',
    section: '§3.7',
    parts: { root: llm('root', { tools: ['one', 'fails', 'five'] }), one, fails, five },
    root: 'root',
    script: { root: [calls('one', 'fails', 'five'), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'words beside a call, and a call id of the model',
    section: '§1.7',
    differs: ['D8'],
    parts: { root: llm('root', { tools: ['five'], outputKey: 'said' }), five },
    root: 'root',
    script: { root: [{ text: 'let me see', calls: [{ name: 'five', args: {}, id: 'mine-1' }] }, say('5')] },
    turns: ['go'],
  },
  {
    name: 'a tool that skips the summary',
    section: '§1.4',
    parts: {
      root: llm('root', { tools: ['final'] }),
      final: tool('final', (_args, { actions }) => {
        actions.skipSummarization = true;
        return { done: true };
      }),
    },
    root: 'root',
    script: { root: [call('final'), say('hello again')] },
    turns: ['go', 'and now?'],
  },
  {
    name: 'a tool that skips the summary of another one too',
    section: '§3.7',
    parts: {
      root: llm('root', { tools: ['one', 'final'] }),
      one,
      final: tool('final', (_args, { actions }) => {
        actions.skipSummarization = true;
        return { done: true };
      }),
    },
    root: 'root',
    script: { root: [calls('one', 'final')] },
    turns: ['go'],
  },
  {
    name: 'calls that the client makes',
    section: '§2.6',
    differs: ['D24'],
    parts: { root: llm('root', { tools: ['one'] }), one },
    root: 'root',
    script: { root: [call('one'), say('ok')] },
    turns: ['go', answer({ one: { n: 2 } })],
    runConfig: { pauseOnToolCalls: true },
  },
];
