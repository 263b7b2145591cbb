import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AgentTool } from '../agent-tool/agent-tool.ts';
import type { Context } from '../base/context.ts';
import { getFunctionResponses } from '../events/event.ts';
import { brief, chat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { LlmAgent } from './llm-agent.ts';

function tool(name: string, execute: (args: never, context?: Context) => unknown, parameters?: z.ZodObject) {
  return new FunctionTool({ name, description: `does ${name}`, execute, ...(parameters && { parameters }) });
}

describe('an LLM agent', () => {
  it('calls a tool and answers with its result', async () => {
    const { llm, requests } = await scriptedModel(
      { calls: [{ name: 'add', args: { a: 2, b: 3 } }] },
      { text: 'five' },
    );
    const add = new FunctionTool({
      name: 'add',
      description: 'adds',
      parameters: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }) => a + b,
    });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [add] }));
    const events = await say('2 + 3?');
    expect(events.map(brief)).toEqual(['root: calls add', 'root: gets {"result":5}', 'root: five']);
    const [first, second] = requests;
    expect(first?.tools.map(({ name }) => name)).toEqual(['add']);
    expect(second?.contents.map(({ role, parts }) => [role, Object.keys(parts?.[0] ?? {})[0]])).toEqual([
      ['user', 'text'],
      ['model', 'functionCall'],
      ['user', 'functionResponse'],
    ]);
    expect(JSON.stringify(second?.contents)).not.toContain('adk-');
  });

  it('distinguishes calls that have the same id from the model', async () => {
    const again = { calls: [{ id: 'call_0', name: 'count', args: {} }] };
    const { llm } = await scriptedModel(again, again, { text: 'done' });
    let n = 0;
    const count = tool('count', () => {
      n += 1;
      return { n };
    });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [count] }));
    expect((await say('go')).map(brief)).toEqual([
      'root: calls count',
      'root: gets {"n":1}',
      'root: calls count',
      'root: gets {"n":2}',
      'root: done',
    ]);
  });

  it('runs the calls of one turn at the same time and returns responses in the order of the calls (ADK defect B3)', async () => {
    const { llm } = await scriptedModel(
      {
        calls: [
          { name: 'slow', args: {} },
          { name: 'fast', args: {} },
        ],
      },
      { text: 'ok' },
    );
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const slow = tool('slow', async () => {
      await gate.promise;
      order.push('slow');
      return { from: 'slow' };
    });
    const fast = tool('fast', () => {
      order.push('fast');
      gate.resolve();
      return { from: 'fast' };
    });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [slow, fast] }));
    const events = await say('go');
    expect(order).toEqual(['fast', 'slow']);
    expect(events).toHaveLength(3);
    const [, merged] = events;
    expect(merged && getFunctionResponses(merged).map(({ response }) => response)).toEqual([
      { from: 'slow' },
      { from: 'fast' },
    ]);
  });

  it.each<[string, unknown, unknown]>([
    ['a number', 7, { result: 7 }],
    ['a list', [1, 2], { result: [1, 2] }],
    ['nothing', undefined, { result: null }],
    ['an object', { a: { b: 1 } }, { a: { b: 1 } }],
    ['a date', new Date(0), { result: '1970-01-01T00:00:00.000Z' }],
    ['a big integer', 1n, { error: expect.stringContaining('BigInt') }],
    ['missing values and no number', { a: undefined, b: [undefined, Number.NaN] }, { b: [null, null] }],
    ['a map', new Map(), { error: expect.stringContaining('a Map') }],
    ['a map within', { at: [new Map()] }, { error: expect.stringContaining('a Map') }],
    ['an error within', { at: new Error('x') }, { error: expect.stringContaining('a Error') }],
  ])('passes %s of a tool to the model as an object', async (_what, value, response) => {
    const { llm } = await scriptedModel({ calls: [{ name: 'give', args: {} }] }, { text: 'ok' });
    const { say } = await chat(
      new LlmAgent({ name: 'root', model: llm, tools: [tool('give', () => value)] }),
    );
    const [, event] = await say('go');
    expect(event && getFunctionResponses(event)[0]?.response).toEqual(response);
  });

  it.each<[string, (context: Context) => unknown, string]>([
    ['a tool', () => ({}), 'its state "bad" is not JSON: it is a function () => 1'],
    [
      'a generator',
      async function* () {
        yield 1;
      },
      'its state "bad" is not JSON: it is a function () => 1',
    ],
    ['a tool that throws', () => Promise.reject(new Error('boom')), 'boom'],
    [
      'a generator that throws',
      // biome-ignore lint/correctness/useYield: it fails at once.
      async function* () {
        throw new Error('boom');
      },
      'boom',
    ],
  ])(
    'tells the model about state of %s that JSON cannot hold, and keeps the other state',
    async (_what, work, error) => {
      const { llm } = await scriptedModel({ calls: [{ name: 'give', args: {} }] }, { text: 'ok' });
      const give = tool('give', (_args, context) => {
        context?.state.update({ good: 1, bad: () => 1, worse: new Map() });
        return context && work(context);
      });
      const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [give] }));
      const events = await say('go');
      const [event, answer] = events.slice(-2);
      expect(event && getFunctionResponses(event)[0]?.response).toEqual({
        error: `tool give failed: ${error}`,
      });
      expect(event?.actions.stateDelta).toEqual({ good: 1 });
      expect(answer?.content?.parts).toEqual([{ text: 'ok' }]);
    },
  );

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['a missing argument', {}, /missing parameter "city"/],
    ['a wrong type', { city: 5 }, /parameter "city".*string/],
    ['a value outside the list', { city: 'x', unit: 'K' }, /parameter "unit"/],
  ])('tells the model about %s', async (_what, args, words) => {
    const { llm } = await scriptedModel({ calls: [{ name: 'weather', args }] }, { text: 'sorry' });
    let ran = false;
    const weather = new FunctionTool({
      name: 'weather',
      description: 'weather',
      parameters: z.object({ city: z.string(), unit: z.enum(['C', 'F']).default('C') }),
      execute: () => {
        ran = true;
      },
    });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [weather] }));
    const events = await say('go');
    expect(events[1] && getFunctionResponses(events[1])[0]?.response?.error).toMatch(words);
    expect(ran).toBe(false);
    expect(events.map(brief).at(-1)).toBe('root: sorry');
  });

  it.each([
    ['an object without a prototype', Object.create(null)],
    ['a symbol', Symbol('x')],
    ['a revoked proxy', revokedProxy()],
    ['nothing', undefined],
  ])('tells the model about a tool that throws %s', async (_what, thrown) => {
    const { llm, requests } = await scriptedModel({ calls: [{ name: 'odd', args: {} }] }, { text: 'sorry' });
    const odd = tool('odd', () => Promise.reject(thrown));
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [odd] }), undefined, {
      onFailure: () => {},
    });
    expect((await say('go')).at(-1)).toMatchObject({ content: { parts: [{ text: 'sorry' }] } });
    expect(JSON.stringify(requests.at(-1)?.contents)).toContain('tool odd failed: ');
  });

  it('tells the model about a tool that throws, and about one that does not exist (ADK defect B9)', async () => {
    const { llm } = await scriptedModel(
      {
        calls: [
          { name: 'bad', args: {} },
          { name: 'gone', args: {} },
        ],
      },
      { text: 'ok' },
    );
    const bad = tool('bad', () => {
      throw new Error('disk full');
    });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [bad] }));
    const [, event] = await say('go');
    expect(event && getFunctionResponses(event).map(({ response }) => response?.error)).toEqual([
      'tool bad failed: disk full',
      'there is no tool "gone"; the tools are: bad',
    ]);
  });

  it("commits a tool's session and user state in the event, and keeps temp: state for the invocation only", async () => {
    const { llm } = await scriptedModel(
      { calls: [{ name: 'write', args: {} }] },
      { calls: [{ name: 'read', args: {} }] },
      { text: 'ok' },
      { calls: [{ name: 'read', args: {} }] },
      { text: 'ok' },
    );
    const write = tool('write', (_args, context) => {
      context?.state.update({ plain: 1, 'user:u': 2, 'temp:t': 3 });
      return {};
    });
    const read = tool('read', (_args, context) => ({ t: context?.state.get('temp:t', 'none') }));
    const { say, stored } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [write, read] }));
    const events = await say('go');
    expect(events[1]?.actions.stateDelta).toEqual({ plain: 1, 'user:u': 2 });
    expect(brief(events[3] ?? (events[0] as never))).toBe('root: gets {"t":3}');
    expect((await stored()).state).toEqual({ plain: 1, 'user:u': 2 });
    expect((await say('again')).map(brief)[1]).toBe('root: gets {"t":"none"}');
  });

  it('fills its instruction from the state and names a missing key', async () => {
    const { llm, requests } = await scriptedModel({ text: 'hi' });
    const agent = new LlmAgent({
      name: 'root',
      model: llm,
      instruction: 'Speak {lang} to {name?}. JSON: {"a": 1}',
    });
    await (await chat(agent, { lang: 'Latin' })).say('go');
    expect(requests[0]?.systemInstruction).toBe('Speak Latin to . JSON: {"a": 1}');
    const poor = await chat(agent);
    await expect(poor.say('go')).rejects.toThrow(/state key "lang"/);
  });

  it('turns a failing model into an error event and ends', async () => {
    const { llm } = await scriptedModel({ error: { status: 429, message: 'slow down' } });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm }));
    expect((await say('go')).map(brief)).toEqual(['root: fails 429']);
  });

  it('stops at the limit of tokens, agents used as tools included', async () => {
    const usage = { totalTokenCount: 60 };
    const child = await scriptedModel({ text: 'child', usage });
    const { llm } = await scriptedModel({ calls: [{ name: 'child', args: { request: 'x' } }], usage });
    const agent = new LlmAgent({
      name: 'root',
      model: llm,
      tools: [new AgentTool({ agent: new LlmAgent({ name: 'child', model: child.llm }) })],
    });
    const events = await (await chat(agent)).say('go', { maxTokens: 100 });
    expect(events.map(brief).at(-1)).toBe('root: fails resource_exhausted');
    expect(events.at(-1)?.errorMessage).toContain('100 tokens and has used 120');
  });

  it('stops at the limit of model calls', async () => {
    const again = { calls: [{ name: 'noop', args: {} }] };
    const { llm } = await scriptedModel(again, again, again);
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [tool('noop', () => ({}))] }));
    const events = await say('go', { maxLlmCalls: 2 });
    expect(events.map(brief).at(-1)).toBe('root: fails resource_exhausted');
    expect(events).toHaveLength(5);
  });

  it('streams pieces and commits the whole answer', async () => {
    const { llm } = await scriptedModel({ text: 'one two', chunks: ['one', ' two'] });
    const { say, stored } = await chat(new LlmAgent({ name: 'root', model: llm, outputKey: 'answer' }));
    const events = await say('go', { streamingMode: 'sse' });
    expect(events.map((event) => [event.partial, brief(event)])).toEqual([
      [true, 'root: one'],
      [true, 'root:  two'],
      [undefined, 'root: one two'],
    ]);
    const { events: kept, state } = await stored();
    expect(kept).toHaveLength(2);
    expect(state).toEqual({ answer: 'one two' });
  });

  it('skips the summary when a tool says so', async () => {
    const { llm } = await scriptedModel({ calls: [{ name: 'final', args: {} }] });
    const final = tool('final', (_args, context) => {
      if (context) context.actions.skipSummarization = true;
      return { done: true };
    });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [final] }));
    expect((await say('go')).map(brief)).toEqual(['root: calls final', 'root: gets {"done":true}']);
  });

  it('refuses a configuration that cannot work, such as two agents of one name (ADK defect B23)', () => {
    const child = new LlmAgent({ name: 'child' });
    new LlmAgent({ name: 'one', subAgents: [child] });
    expect(() => new LlmAgent({ name: 'two', subAgents: [child] })).toThrow(/already a sub-agent of one/);
    expect(() => new LlmAgent({ name: 'user' })).toThrow(/reserved/);
    expect(() => new LlmAgent({ name: 'a b' })).toThrow(/letter/);
    const twin = () => new LlmAgent({ name: 'twin' });
    expect(() => new LlmAgent({ name: 'top', subAgents: [twin(), twin()] })).toThrow(
      /two agents of one tree are called twin/,
    );
    expect(() => new LlmAgent({ name: 'x', generateContentConfig: { systemInstruction: 'no' } })).toThrow(
      /option of its own/,
    );
  });

  it('refuses names that cannot be part of a subject', () => {
    for (const name of ['ä', 'агент', 'a.b', '', 'x'.repeat(65)]) {
      expect(() => new LlmAgent({ name }), name).toThrow(/a letter or _ first/);
    }
    expect(new LlmAgent({ name: `_${'x'.repeat(62)}-` }).name).toHaveLength(64);
  });

  it('refuses an unknown toolExecution', () => {
    expect(() => new LlmAgent({ name: 'a', toolExecution: 'both' as never })).toThrow(
      /toolExecution must be "parallel" or "sequential", not "both"/,
    );
  });
});

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
