import { expect, it } from 'vitest';
import { parse } from '../parsing/parse.ts';
import { clientInputSchema } from './client-input.ts';
import { toolResultSchema } from './command.ts';

it('accepts a result of a long-running tool without a response', () => {
  expect(toolResultSchema.parse(JSON.parse(JSON.stringify({ response: undefined })))).toEqual({});
});

const readClient = (input: object) => parse(clientInputSchema, input, 'client');
const tool = (name: string, more: object = {}) => ({ name, description: 'picks', ...more });

it('takes tools with and without parameters, and context', () => {
  const parameters = { type: 'object', properties: { hue: { type: 'number' } }, $defs: {} };
  const context = [{ description: 'time', value: 'noon' }];
  expect(readClient({ tools: [tool('pick', { parameters }), { name: 'clear' }], context })).toEqual({
    tools: [tool('pick', { parameters }), { name: 'clear', description: '' }],
    context,
  });
});

it.each([
  ['a name that models do not accept', { tools: [tool('pick color')] }, 'tools.0.name: a letter or _ first'],
  ['two tools of a name', { tools: [tool('pick'), tool('pick')] }, 'two tools are called pick'],
  ['no object', { tools: [tool('pick', { parameters: 'none' })] }, 'tools.0.parameters'],
  ['another type', { tools: [tool('pick', { parameters: { type: 'string' } })] }, 'of type object'],
  ['too many tools', { tools: Array.from({ length: 65 }, (_, n) => tool(`t${n}`)) }, '64 at the most'],
  ['too large tools', { tools: [tool('pick', { description: 'x'.repeat(64_000) })] }, '64000 characters'],
  ['too large a context', { context: [{ description: 'x', value: 'x'.repeat(64_000) }] }, '64000 characters'],
  [
    'too much context',
    { context: Array.from({ length: 65 }, () => ({ description: '', value: '' })) },
    '64 entries at the most',
  ],
  ['an unknown field', { tools: [tool('pick', { strict: true })] }, '"tools.0.strict" is not known'],
])('refuses %s', (_what, input, reason) => {
  expect(() => readClient(input)).toThrow(reason);
});
