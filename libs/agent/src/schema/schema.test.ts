import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { z as z3 } from 'zod/v3';
import { Context } from '../base/context.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { zodToSchema } from './zod-to-schema.ts';

describe('a zod schema as models see it', () => {
  it('shows allowed numbers in the description', () => {
    const schema = z.object({
      size: z.literal([1, 2]).describe('how large'),
      level: z.enum({ low: 1, high: 2 }).describe('how loud').default(1),
      plain: z.literal(7),
    });
    expect(zodToSchema(schema).properties).toEqual({
      size: { type: 'NUMBER', description: 'One of: 1, 2. how large' },
      level: { type: 'NUMBER', description: 'One of: 1, 2. how loud', default: 1 },
      plain: { type: 'NUMBER', description: 'One of: 7.' },
    });
  });

  it('shows the rest of a tuple, its optional members, and titles', () => {
    const schema = z.object({
      rest: z.tuple([z.string()], z.number()),
      optional: z.tuple([z.string(), z.string().optional()]),
      none: z.tuple([]),
      titled: z.string().meta({ title: 'A title' }),
      either: z.union([z.string(), z.number()]).meta({ title: 'Either' }),
    });
    const [text, number] = [{ type: 'STRING' }, { type: 'NUMBER' }];
    const any = { anyOf: [text, number, { type: 'BOOLEAN' }] };
    expect(zodToSchema(schema).properties).toEqual({
      rest: { type: 'ARRAY', minItems: '1', items: { anyOf: [text, number] } },
      optional: { type: 'ARRAY', minItems: '1', maxItems: '2', items: text },
      none: { type: 'ARRAY', maxItems: '0', items: any },
      titled: { ...text, title: 'A title' },
      either: {
        anyOf: [
          { ...text, title: 'Either' },
          { ...number, title: 'Either' },
        ],
      },
    });
  });

  it('holds parts with an id in their place', () => {
    const street = z.string().meta({ id: 'Street', description: 'with its number' });
    const address = z.object({ street }).meta({ id: 'Address', description: 'a place' });
    const schema = z.object({
      home: address.describe('where one lives'),
      work: address.nullable().optional(),
      others: z.array(address),
      either: z.union([address, z.number()]),
    });
    const place = {
      type: 'OBJECT',
      description: 'a place',
      properties: { street: { type: 'STRING', description: 'with its number' } },
      required: ['street'],
    };
    expect(zodToSchema(schema)).toEqual({
      type: 'OBJECT',
      required: ['home', 'others', 'either'],
      properties: {
        home: { ...place, description: 'where one lives' },
        work: { ...place, nullable: true },
        others: { type: 'ARRAY', items: place },
        either: { anyOf: [place, { type: 'NUMBER' }] },
      },
    });
  });

  it('is refused with the place of a value that JSON cannot hold', () => {
    const deep = z.object({ deep: z.object({ files: z.array(z.set(z.string())) }) });
    expect(() => zodToSchema(deep)).toThrow('JSON has no set (at deep.files)');
    expect(() => zodToSchema(z.object({ n: z.bigint().optional() }))).toThrow('JSON has no bigint (at n)');
  });

  it('is refused with the name of a part that contains itself', () => {
    const node: z.ZodObject = z
      .object({
        get next() {
          return node.optional();
        },
      })
      .meta({ id: 'Node' });
    const tree: z.ZodObject = z.object({
      get left() {
        return tree.optional();
      },
    });
    expect(() => zodToSchema(z.object({ node }))).toThrow('its part Node contains itself');
    expect(() => zodToSchema(tree)).toThrow('it contains itself');
  });
});

it('of zod 3 is refused for an answer of a person too', () => {
  const session = { id: 's', appName: 'app', userId: 'u', state: {} };
  const context = new Context({ invocationId: 'i', agentName: 'a', session }, { functionCallId: 'c' });
  const schema = z3.object({ a: z3.string() }) as unknown as z.ZodType;
  const words = 'must be a zod schema or a JSON schema: it is a schema of zod 3; make it with zod 4';
  expect(() => context.requestConfirmation({ payloadSchema: schema })).toThrow(`payloadSchema ${words}`);
  expect(() => context.requestInput({ message: '', responseSchema: schema })).toThrow(
    `responseSchema ${words}`,
  );
});

describe('a schema that cannot be shown to models', () => {
  const schemas = {
    'zod 3': z3.object({ a: z3.string() }),
    'zod/mini': mini.object({ a: mini.string() }),
    'JSON has no map': z.object({ a: z.map(z.string(), z.string()) }),
  } as Record<string, unknown>;

  it.each(Object.entries(schemas))('is refused when a tool or an agent is made: %s', (words, schema) => {
    const error = (owner: string) =>
      expect.objectContaining({
        code: 'invalid_argument',
        message: expect.stringMatching(new RegExp(`^${owner} cannot be shown to a model: .*${words}`)),
      });
    const tool = { name: 'find', description: '', parameters: schema as z.ZodObject, execute: () => 1 };
    expect(() => new FunctionTool(tool)).toThrow(error('tool find: parameters'));
    for (const key of ['inputSchema', 'outputSchema']) {
      expect(() => new LlmAgent({ name: 'asker', [key]: schema })).toThrow(error(`agent asker: ${key}`));
    }
  });
});
