import { describe, expect, it } from 'vitest';
import { parse } from '../parsing/parse.ts';
import { clientInputSchema } from './client-input.ts';
import { toolResultSchema } from './command.ts';
import { contentSchema, messageSchema } from './content.ts';

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

const unfit: [object, string][] = [
  [{ text: 'hi', partMetadata: 5 }, 'partMetadata'],
  [{ text: 'hi', thought: 'yes' }, 'thought'],
  [{ executableCode: { code: 'x', language: {} } }, 'executableCode.language'],
  [{ fileData: { fileUri: 'http://x/y.png', mimeType: 5 } }, 'fileData.mimeType'],
  [{ inlineData: 'aGk=' }, 'inlineData'],
  [{ toolCall: { args: [1] } }, 'toolCall.args'],
  [{ videoMetadata: { fps: '3' } }, 'videoMetadata.fps'],
  [{ functionResponse: { response: {}, parts: [{ inlineData: 5 }] } }, 'functionResponse.parts.0.inlineData'],
];

describe('a message', () => {
  it.each(unfit)('has no part with a field of another type: %j', (part, field) => {
    expect(() => parse(messageSchema, { parts: [part] }, 'the message')).toThrow(
      `the message is not valid: parts.0.${field}: `,
    );
  });

  it('has every part of @google/genai, with fields that are not known yet', () => {
    const parts = [
      { text: 'hm', thought: true, thoughtSignature: 'c2ln', new: 1 },
      {
        inlineData: { data: 'aGk=', mimeType: 'image/png', displayName: 'a', new: 1 },
        videoMetadata: { fps: 1 },
      },
      { executableCode: { code: 'x', language: 'PYTHON' } },
      { toolCall: { toolType: 'GOOGLE_SEARCH', args: { q: 1 } }, partMetadata: { a: 1 } },
      { functionResponse: { name: 'f', response: {}, parts: [{ fileData: { fileUri: 'gs://a/b' } }] } },
      { entirelyNew: { a: 1 } },
    ];
    expect(parse(messageSchema, { role: 'user', parts, new: 1 }, 'the message')).toEqual({
      role: 'user',
      parts,
      new: 1,
    });
  });
});

it.each(unfit.slice(0, -1))('a log of an older version may hold it: %j', (part) => {
  expect(parse(contentSchema, { parts: [part] }, 'the event')).toEqual({ parts: [part] });
});
