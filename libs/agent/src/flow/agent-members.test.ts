import { describe, expect, it } from 'vitest';
import { Context } from '../base/context.ts';
import { State, scopeOf } from '../events/state.ts';
import { brief, chat, scriptedModel } from '../harness.fixture.ts';
import { Gemini } from '../models/gemini.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { LoopAgent } from '../workflow/loop-agent.ts';
import { RoutedAgent } from '../workflow/routed-agent.ts';
import { SequentialAgent } from '../workflow/sequential-agent.ts';
import { LlmAgent } from './llm-agent.ts';

describe('an agent that is changed after it was made', () => {
  it('uses its current model, instruction and tools from the next step on', async () => {
    const first = await scriptedModel({ text: 'one' });
    const second = await scriptedModel({ text: 'two' });
    const agent = new LlmAgent({ name: 'root', model: first.llm, instruction: 'Old.' });
    expect(agent.model).toBe(first.llm);
    const { say } = await chat(agent);
    expect((await say('hi')).map(brief)).toEqual(['root: one']);
    agent.model = second.llm;
    agent.instruction = 'New.';
    agent.tools.push(new FunctionTool({ name: 'now', description: '', execute: () => 1 }));
    expect((await say('hi')).map(brief)).toEqual(['root: two']);
    expect(agent.canonicalModel).toBe(second.llm);
    expect(JSON.stringify(second.requests[0])).toContain('New.');
    expect(JSON.stringify(second.requests[0])).toContain('"now"');
  });

  it("accepts a model name, and uses its parent's model without one", () => {
    const child = new LlmAgent({ name: 'child' });
    const root = new LlmAgent({ name: 'root', model: 'gemini-a', subAgents: [child] });
    expect(child.model).toBeUndefined();
    expect(child.canonicalModel).toMatchObject({ model: 'gemini-a' });
    root.model = 'gemini-b';
    expect(root.canonicalModel).toMatchObject({ model: 'gemini-b' });
    expect(child.canonicalModel).toMatchObject({ model: 'gemini-b' });
  });

  it('lists its callbacks, and calls those that are set later', async () => {
    const { llm } = await scriptedModel({ text: 'never' });
    const before = () => undefined;
    const agent = new LlmAgent({ name: 'root', model: llm, beforeModelCallback: before });
    expect(agent.beforeModelCallback).toBe(before);
    expect(agent.afterToolCallback).toBeUndefined();
    agent.beforeModelCallback = [before, () => ({ content: { role: 'model', parts: [{ text: 'mine' }] } })];
    const { say } = await chat(agent);
    expect((await say('hi')).map(brief)).toEqual(['root: mine']);
  });
});

describe('a clone', () => {
  it('is an agent of the same class and options, with copies of its sub-agents and without a parent', () => {
    const leaf = new LlmAgent({ name: 'leaf', model: 'gemini-a', outputKey: 'k' });
    const loop = new LoopAgent({ name: 'loop', subAgents: [leaf], maxIterations: 3 });
    const root = new SequentialAgent({ name: 'root', subAgents: [loop], description: 'd' });
    const copy = loop.clone({ maxIterations: 4 });
    expect(copy).toBeInstanceOf(LoopAgent);
    expect(copy).toMatchObject({ name: 'loop', maxIterations: 4, parentAgent: undefined });
    expect(copy.subAgents[0]).not.toBe(leaf);
    expect(copy.subAgents[0]).toMatchObject({ name: 'leaf', outputKey: 'k', parentAgent: copy });
    expect(loop.parentAgent).toBe(root);
    expect(root.clone()).toMatchObject({ name: 'root', description: 'd' });
  });

  it('copies changed fields, and can be changed without the original', () => {
    const agent = new LlmAgent({ name: 'a', model: 'gemini-a', tools: [] });
    agent.model = 'gemini-b';
    const copy = agent.clone({ name: 'b' });
    copy.tools.push(new FunctionTool({ name: 't', description: '', execute: () => 1 }));
    expect(copy).toMatchObject({ name: 'b', model: 'gemini-b' });
    expect(agent.tools).toEqual([]);
  });

  it('of a routed agent routes among copies', () => {
    const child = new LlmAgent({ name: 'child' });
    const copy = new RoutedAgent({ name: 'r', agents: { key: child } }).clone({ name: 's' });
    expect(copy.name).toBe('s');
    expect(copy.subAgents.map(({ name }) => name)).toEqual(['child']);
    expect(copy.subAgents[0]).not.toBe(child);
  });

  it('refuses an option that its class does not have, and a parent', () => {
    const agent = new LlmAgent({ name: 'a' });
    const options = (given: object) => () => agent.clone(given);
    expect(options({ instructions: 'x' })).toThrow('did you mean `instruction`?');
    expect(options({ parentAgent: new LlmAgent({ name: 'p' }) })).toThrow('option `parentAgent` of ADK');
  });
});

describe('the names of scopes', () => {
  it('are the prefixes that the state uses', () => {
    expect(scopeOf(`${State.APP_PREFIX}x`)).toBe('app');
    expect(scopeOf(`${State.USER_PREFIX}x`)).toBe('user');
    expect(scopeOf(`${State.TEMP_PREFIX}x`)).toBe('temp');
  });
});

describe('a tool that asks for a confirmation', () => {
  it('may set a time limit for the answer', () => {
    const session = { id: 's', appName: 'app', userId: 'u', state: {} };
    const context = new Context({ invocationId: 'i', agentName: 'a', session }, { functionCallId: 'c' });
    context.requestConfirmation({ answerWithinMs: 5 });
    expect(context.actions.requestedToolConfirmations).toEqual({
      c: { confirmed: false, answerWithinMs: 5 },
    });
  });
});

describe('a model as an object', () => {
  it("is returned by the agent's model property", () => {
    const llm = new Gemini();
    expect(new LlmAgent({ name: 'a', model: llm }).canonicalModel).toBe(llm);
  });
});
