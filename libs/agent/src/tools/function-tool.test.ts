import { Type } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { BaseTool } from '../base/base-tool.ts';
import { BaseToolset, type ToolPredicate } from '../base/base-toolset.ts';
import type { ReadonlyContext } from '../base/context.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, scriptedModel } from '../harness.fixture.ts';
import { zodToSchema } from '../schema/zod-to-schema.ts';
import { FunctionTool } from './function-tool.ts';

const use = (name: string, args: Record<string, unknown> = {}) => ({ calls: [{ name, args }] });

async function agentWith(tools: (BaseTool | BaseToolset)[], ...replies: Parameters<typeof scriptedModel>) {
  const { llm, requests } = await scriptedModel(...replies);
  return { agent: new LlmAgent({ name: 'root', model: llm, tools }), requests };
}

describe('a function tool', () => {
  it('that hangs fails after its time limit, and its signal is aborted', async () => {
    let stopped = false;
    const slow = new FunctionTool({
      name: 'slow',
      description: 'hangs',
      timeoutMs: 5,
      execute: (_args, context) => {
        context?.abortSignal?.addEventListener('abort', () => {
          stopped = true;
        });
        return new Promise(() => {});
      },
    });
    const stuck = new FunctionTool({
      name: 'stuck',
      description: 'hangs on its way',
      timeoutMs: 20,
      execute: async function* () {
        yield 1;
        await new Promise(() => {});
      },
    });
    const { agent } = await agentWith([slow, stuck], use('slow'), use('stuck'), { text: 'ok' });
    const events = await (await chat(agent)).say('go');
    expect(events.map(brief)).toEqual([
      'root: calls slow',
      'root: gets {"error":"tool slow failed: it did not answer within 5 ms"}',
      'root: calls stuck',
      'root: gets {"result":1}',
      'root: gets {"error":"tool stuck failed: it did not answer within 20 ms"}',
      'root: ok',
    ]);
    expect(stopped).toBe(true);
  });

  it('knows its call: the id, the event, the invocation', async () => {
    let seen: unknown[] = [];
    const look = new FunctionTool({
      name: 'look',
      description: 'looks',
      execute: (_args, context) => {
        seen = [context?.functionCallId, context?.functionCallEventId, context?.agentName];
        return context?.invocationContext?.runConfig.maxLlmCalls;
      },
    });
    const { agent } = await agentWith([look], use('look'), { text: 'ok' });
    const [called, result] = await (await chat(agent)).say('go');
    expect(seen).toEqual([called?.content?.parts?.[0]?.functionCall?.id, called?.id, 'root']);
    expect(result && brief(result)).toBe('root: gets {"result":500}');
  });

  it('with a raw schema checks the required keys', async () => {
    const raw = new FunctionTool({
      name: 'raw',
      description: 'raw',
      parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] },
      execute: (args) => ({ args }),
    });
    const { agent } = await agentWith([raw], use('raw'), use('raw', { city: 'Oslo' }), { text: 'ok' });
    const events = await (await chat(agent)).say('go');
    expect(events.map(brief)[1]).toMatch(/missing parameter \\"city\\"/);
    expect(events.map(brief)[3]).toBe('root: gets {"args":{"city":"Oslo"}}');
  });

  it('shows all zod types that JSON can hold, and refuses the rest', () => {
    const schema = zodToSchema(
      z.strictObject({
        name: z.string().min(1).describe('who'),
        kind: z.enum(['a', 'b']).default('a'),
        level: z.union([z.literal(1), z.literal(2)]).optional(),
        at: z.coerce.date(),
        pair: z.tuple([z.number(), z.string()]),
        tags: z.record(z.string(), z.number()),
        either: z.discriminatedUnion('type', [
          z.object({ type: z.literal('x'), x: z.int() }),
          z.object({ type: z.literal('y') }),
        ]),
        both: z.intersection(z.object({ a: z.string() }), z.object({ b: z.boolean() })),
        maybe: z.string().nullable(),
      }),
    );
    expect(schema.required).toEqual(['name', 'at', 'pair', 'tags', 'either', 'both', 'maybe']);
    expect(schema.properties).toMatchObject({
      name: { type: 'STRING', minLength: '1', description: 'who' },
      kind: { type: 'STRING', enum: ['a', 'b'], default: 'a' },
      at: { type: 'STRING', format: 'date-time' },
      pair: { type: 'ARRAY', minItems: '2', items: { anyOf: [{ type: 'NUMBER' }, { type: 'STRING' }] } },
      tags: { type: 'ARRAY', items: { required: ['key', 'value'] } },
      either: { anyOf: [{ properties: { type: { enum: ['x'] }, x: { type: 'INTEGER' } } }, {}] },
      both: { properties: { a: { type: 'STRING' }, b: { type: 'BOOLEAN' } }, required: ['a', 'b'] },
      maybe: { type: 'STRING', nullable: true },
    });
    const bad = () =>
      new FunctionTool({
        name: 'x',
        description: 'x',
        parameters: z.object({ m: z.map(z.string(), z.any()) }),
        execute: () => 1,
      });
    expect(bad).toThrow(/cannot be shown to a model.*map/);
  });
});

class Numbers extends BaseToolset {
  closed = 0;

  constructor(filter: string[] | ToolPredicate = [], prefix?: string) {
    super(filter, prefix);
  }

  override async getTools(context?: ReadonlyContext) {
    const names = context?.state.get('more') ? ['one', 'two', 'three'] : ['one', 'two'];
    return names.map((name) => new FunctionTool({ name, description: name, execute: () => name }));
  }

  override async close() {
    this.closed += 1;
  }
}

describe('a toolset', () => {
  it('is queried at every step, filters, and prefixes the names', async () => {
    const more = new FunctionTool({
      name: 'more',
      description: 'more',
      execute: (_args, context) => context?.state.set('more', true),
    });
    const filter: ToolPredicate = (tool, context) => tool.name !== 'two' && context.agentName === 'root';
    const { agent, requests } = await agentWith(
      [more, new Numbers(filter, 'n')],
      use('more'),
      use('n_three'),
      {
        text: 'ok',
      },
    );
    const events = await (await chat(agent)).say('go');
    expect(requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ['more', 'n_one'],
      ['more', 'n_one', 'n_three'],
      ['more', 'n_one', 'n_three'],
    ]);
    expect(events.map(brief)[3]).toBe('root: gets {"result":"three"}');
  });

  it('selects only listed tools, and may not add a name that is in use', async () => {
    const { agent, requests } = await agentWith([new Numbers(['two'])], { text: 'ok' });
    await (await chat(agent)).say('go');
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['two']);
    const twice = await agentWith([new Numbers(), new Numbers()], { text: 'ok' });
    await expect((await chat(twice.agent)).say('go')).rejects.toThrow(/two tools called one/);
  });

  it('is closed with its runner, not after a run (ADK defect B16)', async () => {
    const numbers = new Numbers();
    const { agent } = await agentWith([numbers], { text: 'ok' });
    const { say, runner } = await chat(agent);
    await say('go');
    expect(numbers.closed).toBe(0);
    await runner.close();
    expect(numbers.closed).toBe(1);
  });
});

describe('a tool written against ADK', () => {
  it('overrides _getDeclaration and processLlmRequest', async () => {
    class Adk extends BaseTool {
      override _getDeclaration() {
        return { name: 'adk', description: 'of ADK', parameters: { type: Type.OBJECT, properties: {} } };
      }
      override async processLlmRequest(request: Parameters<BaseTool['processLlmRequest']>[0]) {
        await super.processLlmRequest(request);
        request.llmRequest.contents.push({ role: 'user', parts: [{ text: 'psst' }] });
      }
      override async runAsync() {
        return 'ran';
      }
    }
    const { agent, requests } = await agentWith([new Adk({ name: 'adk', description: 'x' })], use('adk'), {
      text: 'ok',
    });
    const events = await (await chat(agent)).say('go');
    expect(events.map(brief)[1]).toBe('root: gets {"result":"ran"}');
    expect(requests[0]?.tools[0]?.description).toBe('of ADK');
    expect(JSON.stringify(requests[0]?.contents)).toContain('psst');
  });
});
