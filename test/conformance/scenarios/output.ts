import { Type } from '@google/genai';
import { z } from 'zod';
import type { Scenario } from '../kit.ts';
import { call, llm, say, sequence, tool } from './parts.ts';

const five = tool('five', () => 5);
const outputSchema = z.object({ city: z.string(), degrees: z.number() });
const fits = { city: 'Oslo', degrees: 3 };

const structured = (
  name: string,
  script: Scenario['script'][string],
  { differs, ...options }: Pick<Scenario, 'differs'> & Record<string, unknown> = {},
): Scenario => ({
  name,
  section: '§3.6',
  parts: { root: llm('root', { outputSchema, outputKey: 'said', ...options }), five },
  root: 'root',
  script: { root: script },
  turns: ['go'],
  ...(differs && { differs }),
});

export const outputScenarios: Scenario[] = [
  {
    name: 'the answer is kept under outputKey',
    section: '§3.6',
    parts: { root: llm('root', { outputKey: 'said' }) },
    root: 'root',
    script: { root: [{ parts: [{ text: 'forty' }, { text: '-two' }] }] },
    turns: ['hi'],
  },
  {
    name: 'outputKey is for the last word alone',
    section: '§3.6',
    parts: {
      line: sequence('line', 'one', 'two'),
      one: llm('one', { outputKey: 'said', tools: ['five'] }),
      two: llm('two', { instruction: '«{said}»' }),
      five,
    },
    root: 'line',
    script: { one: [{ text: 'wait', calls: [{ name: 'five', args: {} }] }, say('five')], two: [say('ok')] },
    turns: ['hi'],
  },
  structured('an answer in a form, as a value', [say(JSON.stringify(fits))]),
  structured('an answer in a form of Gemini', [say(JSON.stringify(fits))], {
    outputSchema: {
      type: Type.OBJECT,
      properties: { city: { type: Type.STRING }, degrees: { type: Type.NUMBER } },
      required: ['city'],
    },
  }),
  structured('an answer that does not fit its form', [say('{"city": 5}')], { differs: ['D2'] }),
  structured('an answer in a form that is no JSON', [say('3 degrees')], { differs: ['D2'] }),
  structured('an answer in a form, after tools', [call('five'), call('set_model_response', fits)], {
    tools: ['five'],
  }),
  structured(
    'an answer in a form that does not fit, after tools',
    [call('set_model_response', { city: 5 }), call('set_model_response', fits)],
    { tools: ['five'], differs: ['D2'] },
  ),
];
