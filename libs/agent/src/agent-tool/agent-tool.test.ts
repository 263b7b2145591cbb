import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ArtifactService } from '../artifacts/artifact-service.ts';
import { Context } from '../base/context.ts';
import { originOf as originOfInvocation } from '../base/readonly-context.ts';
import { getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool, LongRunningFunctionTool } from '../tools/function-tool.ts';
import { AgentTool } from './agent-tool.ts';
import { withinCallKey } from './forward-events.ts';

describe('an agent as a tool', () => {
  const originOf = (context: Context | undefined) => {
    const invocation = context?.invocationContext;
    if (!invocation) throw new Error('the tool needs an invocation');
    return { ...originOfInvocation(invocation) };
  };

  const parent = (...[first, ...rest]: Parameters<typeof scriptedModel>) =>
    scriptedModel(first ?? { text: '' }, ...rest);

  it('answers with a line for each of its text parts, without thoughts', async () => {
    const child = await scriptedModel({
      parts: [{ text: 'hm', thought: true }, { text: 'one' }, { text: 'two' }],
    });
    const { llm } = await parent({ calls: [{ name: 'child', args: { request: 'count' } }] }, { text: 'ok' });
    const agent = new LlmAgent({ name: 'child', model: child.llm });
    const { say } = await chat(
      new LlmAgent({ name: 'parent', model: llm, tools: [new AgentTool({ agent })] }),
    );
    expect((await say('go')).map(brief)[1]).toBe('parent: gets {"result":"one\\ntwo"}');
  });

  it('answers its caller, sees its state, and its changes come back with the response', async () => {
    const child = await scriptedModel({ calls: [{ name: 'note', args: {} }] }, { text: 'child says' });
    const note = new FunctionTool({
      name: 'note',
      description: 'notes',
      execute: (_args, context) => {
        context?.state.set('noted', context.state.get('given'));
        context?.state.set('temp:shared', 'yes');
        return {};
      },
    });
    const look = new FunctionTool({
      name: 'look',
      description: 'looks',
      execute: (_args, context) => ({ shared: context?.state.get('temp:shared') }),
    });
    const { llm } = await parent(
      { calls: [{ name: 'child', args: { request: 'do it' } }] },
      { calls: [{ name: 'look', args: {} }] },
      { text: 'parent says' },
    );
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [
        new AgentTool({ agent: new LlmAgent({ name: 'child', model: child.llm, tools: [note] }) }),
        look,
      ],
    });
    const { say, stored } = await chat(agent, { given: 42 });
    expect((await say('go')).map(brief)).toEqual([
      'parent: calls child',
      'parent: gets {"result":"child says"}',
      'parent: calls look',
      'parent: gets {"shared":"yes"}',
      'parent: parent says',
    ]);
    expect((await stored()).state).toEqual({ given: 42, noted: 42 });
  });

  it('sees the newest temp: state when a callback asks it after a step', async () => {
    const child = await scriptedModel({ text: 'child says' });
    const { llm } = await parent({ calls: [{ name: 'note', args: {} }] }, { text: 'parent says' });
    const note = new FunctionTool({
      name: 'note',
      description: 'notes',
      execute: (_args, context) => context?.state.set('temp:noted', 'old'),
    });
    const ask = new AgentTool({
      agent: new LlmAgent({ name: 'child', model: child.llm, instruction: 'noted: {temp:noted}' }),
    });
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [note],
      afterModelCallback: ({ context }) => void context.state.set('temp:noted', 'new'),
      afterAgentCallback: async (context) => {
        await ask.runAsync({ args: { request: 'x' }, toolContext: context });
        return undefined;
      },
    });
    await (await chat(agent)).say('go');
    expect(child.requests.map(({ systemInstruction }) => systemInstruction)).toEqual([
      expect.stringContaining('noted: new'),
    ]);
  });

  it('starts with an empty session at every call (ADK defect B8)', async () => {
    const child = await scriptedModel({ text: 'first' }, { text: 'second' });
    const call = { calls: [{ name: 'child', args: { request: 'x' } }] };
    const { llm } = await parent(call, call, { text: 'ok' });
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [new AgentTool({ agent: new LlmAgent({ name: 'child', model: child.llm }) })],
    });
    await (await chat(agent)).say('go');
    expect(child.requests.map(({ contents }) => contents.length)).toEqual([1, 1]);
  });

  it('passes its failure on as an error (ADK defect B7)', async () => {
    const child = await scriptedModel({ error: { status: 400, message: 'no such model' } });
    const { llm } = await parent({ calls: [{ name: 'child', args: { request: 'x' } }] }, { text: 'pity' });
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [new AgentTool({ agent: new LlmAgent({ name: 'child', model: child.llm }) })],
    });
    const [, response] = await (await chat(agent)).say('go');
    expect(response && brief(response)).toMatch(/tool child failed: agent child failed: .*no such model/);
  });

  it('gives the final answer with skipSummarization (ADK defect B7)', async () => {
    const child = await scriptedModel({ text: 'final' });
    const { llm } = await parent({ calls: [{ name: 'child', args: { request: 'x' } }] });
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [
        new AgentTool({ agent: new LlmAgent({ name: 'child', model: child.llm }), skipSummarization: true }),
      ],
    });
    expect((await (await chat(agent)).say('go')).map(brief)).toEqual([
      'parent: calls child',
      'parent: gets {"result":"final"}',
    ]);
  });

  it('reports that it waits when its question is open (ADK defect B7)', async () => {
    const child = await scriptedModel({ calls: [{ name: 'approve', args: { n: 1 } }] });
    const approve = new LongRunningFunctionTool({
      name: 'approve',
      description: 'asks',
      execute: () => undefined,
    });
    const { llm } = await parent({ calls: [{ name: 'child', args: { request: 'x' } }] }, { text: 'later' });
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [
        new AgentTool({
          agent: new LlmAgent({ name: 'child', model: child.llm, tools: [approve] }),
          skipSummarization: true,
        }),
      ],
    });
    const [, event] = await (await chat(agent)).say('go');
    expect(event && getFunctionResponses(event)[0]?.response).toMatchObject({
      status: 'pending',
      openCalls: [{ name: 'approve', args: { n: 1 } }],
    });
  });

  it('checks input by its input schema and returns the value of its output schema', async () => {
    const child = await scriptedModel({ text: '{"sum": 3}' });
    const { llm } = await parent(
      { calls: [{ name: 'child', args: { a: 1 } }] },
      { calls: [{ name: 'child', args: { a: 1, b: 2 } }] },
      { text: 'ok' },
    );
    const inputSchema = z.object({ a: z.number(), b: z.number() });
    const outputSchema = z.object({ sum: z.number() });
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [
        new AgentTool({
          agent: new LlmAgent({ name: 'child', model: child.llm, inputSchema, outputSchema }),
        }),
      ],
    });
    const events = await (await chat(agent)).say('go');
    expect(events.map(brief)[1]).toMatch(/missing parameter \\"b\\"/);
    expect(events.map(brief)[3]).toBe('parent: gets {"sum":3}');
    expect(child.requests[0]?.contents[0]?.parts?.[0]?.text).toBe('{"a":1,"b":2}');
  });

  it('forwards its events to watchers as partial events', async () => {
    const note = new FunctionTool({ name: 'note', description: 'notes', execute: () => ({ noted: true }) });
    const child = await scriptedModel(
      { calls: [{ name: 'note', args: {} }] },
      { text: 'one two', chunks: ['one', ' two'] },
    );
    const { llm } = await parent({ calls: [{ name: 'child', args: { request: 'x' } }] }, { text: 'ok' });
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [new AgentTool({ agent: new LlmAgent({ name: 'child', model: child.llm, tools: [note] }) })],
    });
    const { say, stored } = await chat(agent);
    const events = await say('go', { streamingMode: 'sse' });
    const seen = events.filter(({ author }) => author === 'child');
    expect(seen.map(brief)).toEqual([
      'child: calls note',
      'child: gets {"noted":true}',
      'child: one',
      'child:  two',
    ]);
    const [called] = events.flatMap(getFunctionCalls);
    expect(seen.every(({ partial }) => partial)).toBe(true);
    expect(new Set(seen.map(({ customMetadata }) => customMetadata?.[withinCallKey]))).toEqual(
      new Set([called?.id]),
    );
    expect((await stored()).events).toHaveLength(4);
  });

  it('returns the same answer after a crash', async () => {
    const child = await scriptedModel({ text: 'said once' });
    const { llm } = await parent({ calls: [{ name: 'child', args: { request: 'x' } }] }, { text: 'ok' });
    const tool = new AgentTool({ agent: new LlmAgent({ name: 'child', model: child.llm }) });
    const context = { functionCallId: 'call-1' };
    const again = new FunctionTool({
      name: 'child',
      description: 'asks twice under one id, as a process does that takes over',
      execute: async (args, toolContext) => {
        const request = { args, toolContext: new Context(originOf(toolContext), context) };
        return [await tool.runAsync(request), await tool.runAsync(request)];
      },
    });
    const agent = new LlmAgent({ name: 'parent', model: llm, tools: [again] });
    const [, event] = await (await chat(agent)).say('go');
    expect(event && getFunctionResponses(event)[0]?.response).toEqual({
      result: ['said once', 'said once'],
    });
    expect(child.requests).toHaveLength(1);
  });

  it('saves files in the session of its caller', async () => {
    const saved: unknown[] = [];
    const artifactService = {
      saveArtifact: async (r: { sessionId: string; filename: string }) => saved.push(r) - 1,
    } as unknown as ArtifactService;
    const save = new FunctionTool({
      name: 'save',
      description: 'saves',
      execute: async (_args, context) => ({ version: await context?.saveArtifact('a.txt', { text: 'hi' }) }),
    });
    const child = await scriptedModel({ calls: [{ name: 'save', args: {} }] }, { text: 'saved' });
    const { llm } = await parent({ calls: [{ name: 'child', args: { request: 'x' } }] }, { text: 'ok' });
    const agent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [new AgentTool({ agent: new LlmAgent({ name: 'child', model: child.llm, tools: [save] }) })],
    });
    const { say, stored } = await chat(agent, undefined, { artifactService });
    const [, response] = await say('go');
    expect(saved).toMatchObject([{ sessionId: (await stored()).id, filename: 'a.txt' }]);
    expect(response?.actions.artifactDelta).toEqual({ 'a.txt': 0 });
  });
});
