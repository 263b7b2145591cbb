import { schemaProblem, startScriptedGemini } from '@agentmesh/testing';
import type { Schema } from '@google/genai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../flow/llm-agent.ts';
import { chat } from '../harness.fixture.ts';
import { Gemini } from '../models/gemini.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { parseValue, toGenaiSchema } from './schema.ts';
import { zodToSchema } from './zod-to-schema.ts';

const kinds: Record<string, z.ZodType> = {
  url: z.url(),
  email: z.email(),
  uuid: z.uuid(),
  guid: z.guid(),
  date: z.iso.date(),
  time: z.iso.time(),
  duration: z.iso.duration(),
  datetime: z.iso.datetime(),
  ipv4: z.ipv4(),
  cidr: z.cidrv6(),
  base64: z.base64(),
  jwt: z.jwt(),
  emoji: z.emoji(),
  cuid: z.cuid2(),
  'an own format': z.stringFormat('plate', /^[A-Z]{2}-\d+$/),
  'a pattern with a look ahead': z.string().regex(/^(?=.*\d).+$/),
  'a template': z.templateLiteral(['n-', z.number()]),
  'an empty enum value': z.enum(['', 'a']),
  'an empty literal': z.literal(''),
  'mixed literals': z.literal(['a', 1, true, null]),
  'a mixed enum': z.enum({ a: 1, b: 'b' }),
  null: z.null(),
  'a record': z.record(z.string(), z.number()),
  'a record of records': z.record(z.string(), z.record(z.string(), z.object({ a: z.email() }))),
  'a record by enum': z.record(z.enum(['a', 'b']), z.boolean()),
  'a partial record': z.partialRecord(z.enum(['a', 'b']), z.boolean()),
  'a loose object': z.looseObject({ a: z.string() }),
  'an open object': z.looseObject({}),
  'an empty object': z.object({}),
  'a catch-all': z.object({ a: z.string() }).catchall(z.url()),
  any: z.any(),
  unknown: z.unknown().describe('whatever'),
  'a list of any': z.array(z.any()),
  'a tuple': z.tuple([z.string(), z.string()]),
  'a tuple with a rest': z.tuple([z.string()], z.number()),
  'a nullable union': z.union([z.string(), z.number()]).nullable().describe('either').default('x'),
  'a union of records': z.union([z.record(z.string(), z.string()), z.string()]),
  'an int': z.int().positive().multipleOf(5),
  'a limit': z.number().gt(0).lt(1),
  'a transform': z.string().transform((text) => text.length),
  'a preprocess': z.preprocess(Number, z.number()),
  'a custom': z.custom<string>(),
  'a catch': z.string().catch('x'),
  'a set of options': z.object({ a: z.string() }).partial(),
  'an intersection with any': z.intersection(z.object({ a: z.string() }), z.any()),
  'a stringbool': z.stringbool(),
  'a coercion': z.coerce.number(),
};

describe('a schema that Gemini is shown', () => {
  it.each(Object.entries(kinds))('is one that it takes: %s', (_kind, schema) => {
    expect(schemaProblem(zodToSchema(z.object({ it: schema })))).toBeUndefined();
    expect(schemaProblem(zodToSchema(z.object({ it: z.array(schema).optional() })))).toBeUndefined();
    expect(schemaProblem(zodToSchema(z.object({ it: schema.nullable() })))).toBeUndefined();
  });

  it('says in its description what Gemini has no keyword for', () => {
    const schema = z.object({
      mail: z.email().describe('of the customer'),
      blank: z.enum(['', 'a']),
      mixed: z.literal(['a', 1]).describe('how'),
      half: z.number().gt(0).multipleOf(5),
      either: z.union([z.string(), z.number()]).nullable().describe('both').default('x'),
    });
    expect(zodToSchema(schema).properties).toEqual({
      mail: { type: 'STRING', description: 'Format: email. of the customer' },
      blank: { type: 'STRING', description: 'One of: "", "a".' },
      mixed: {
        anyOf: [
          { type: 'STRING', enum: ['a'], description: 'how' },
          { type: 'NUMBER', description: 'One of: 1. how' },
        ],
      },
      half: { type: 'NUMBER', minimum: 0, description: 'More than 0. A multiple of 5.' },
      either: {
        anyOf: [
          { type: 'STRING', nullable: true, description: 'both Default: "x".' },
          { type: 'NUMBER', nullable: true, description: 'both Default: "x".' },
        ],
      },
    });
  });

  it('has no keywords of JSON schema that a tool declares by hand', () => {
    const raw = {
      type: 'OBJECT',
      additionalProperties: false,
      properties: { a: { type: 'STRING', format: 'uri' } },
    };
    expect(toGenaiSchema(raw as Schema)).toEqual({
      type: 'OBJECT',
      description: 'additionalProperties: false.',
      properties: { a: { type: 'STRING', description: 'Format: uri.' } },
    });
  });
});

describe('an object with any keys', () => {
  const schema = z.object({
    sizes: z.record(z.string(), z.number()),
    deep: z.array(z.record(z.string(), z.record(z.string(), z.string()))).optional(),
  });

  it.each([
    ['as a list of its entries', { sizes: [{ key: 'a', value: 1 }] }, { sizes: { a: 1 } }],
    ['as the object', { sizes: { a: 1 } }, { sizes: { a: 1 } }],
    ['as an empty list', { sizes: [] }, { sizes: {} }],
    [
      'within others',
      { sizes: {}, deep: [[{ key: 'a', value: [{ key: 'b', value: 'c' }] }]] },
      { sizes: {}, deep: [{ a: { b: 'c' } }] },
    ],
    ['with a key of all objects', { sizes: [{ key: '__proto__', value: 1 }] }, { sizes: {} }],
  ])('is read %s', (_how, value, expected) => {
    expect(parseValue(schema, value)).toMatchObject({ success: true, data: expected });
  });

  it('is not read from another list', () => {
    expect(parseValue(schema, { sizes: [1] }).success).toBe(false);
    expect(
      parseValue(z.union([z.array(z.any()), z.record(z.string(), z.any())]), [{ key: 'a' }]).data,
    ).toEqual([{ key: 'a' }]);
  });

  it('goes to a tool as the object', async () => {
    const call = { name: 'size', args: { sizes: [{ key: 'a', value: 1 }] } };
    const replies = [{ calls: [call] }, { text: 'ok' }];
    const server = await startScriptedGemini({ script: () => replies.shift() ?? { text: 'no' } });
    onTestFinished(() => server.close());
    const seen: unknown[] = [];
    const execute = (args: unknown) => void seen.push(args);
    const size = new FunctionTool({ name: 'size', description: 'sizes', parameters: schema, execute });
    const bare = new FunctionTool({ name: 'bare', description: 'takes nothing', execute });
    const model = new Gemini({ model: 'gemini-x', apiKey: 'k', baseUrl: server.url });
    const { say } = await chat(new LlmAgent({ name: 'root', model, tools: [size, bare] }));
    await say('go');
    expect(seen).toEqual([{ sizes: { a: 1 } }]);
    const [declared, without] = server.requests[0]?.tools ?? [];
    expect(schemaProblem(declared?.parameters)).toBeUndefined();
    // Gemini refuses parameters without a key.
    expect(without).toEqual({ name: 'bare', description: 'takes nothing' });
  });
});
