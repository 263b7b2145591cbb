import { expect, it } from 'vitest';
import { createEvent, stringifyContent } from '../events/event.ts';
import { State } from '../events/state.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, runWithCrashes, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { BaseAgent } from './base-agent.ts';
import type { InvocationContext } from './invocation-context.ts';

const call = (name: string) => ({ calls: [{ name, args: {} }] });

it('returns a copy of an object, which its reader may change and set again', () => {
  const value = { list: [1] };
  const state = new State(value);
  state.get<number[]>('list')?.push(2);
  expect(state.get('list')).toEqual([1, 2]);
  expect(state.toRecord()).toEqual({ list: [1, 2] });
  expect(value).toEqual({ list: [1] });
  state.set('list', state.get('list'));
  expect(value).toEqual({ list: [1, 2] });
});

it('shows what somebody else has set since a copy was made', () => {
  const value: Record<string, unknown> = { list: [1] };
  const [one, other] = [new State(value), new State(value)];
  one.get<number[]>('list')?.push(2);
  other.set('list', [3]);
  expect(one.get('list')).toEqual([3]);
  expect(one.toRecord()).toEqual({ list: [3] });
});

it('does not show a value that a tool changed in place, and did not set, to the next tool', async () => {
  const { llm } = await scriptedModel(call('change'), call('look'), { text: 'done' });
  const change = new FunctionTool({
    name: 'change',
    description: 'changes',
    execute: (_args, context) => context?.state.get<number[]>('list')?.push(2),
  });
  const look = new FunctionTool({
    name: 'look',
    description: 'looks',
    execute: (_args, context) => context?.state.get('list'),
  });
  const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [change, look] }), {
    list: [1],
  });
  expect((await say('go')).map(brief)[3]).toBe('root: gets {"result":[1]}');
});

it('cannot be written by an instruction', async () => {
  const { llm } = await scriptedModel({ text: 'never' });
  const agent = new LlmAgent({
    name: 'root',
    model: llm,
    instruction: ({ state }) => {
      state.set('seen', true);
      return '';
    },
  });
  const { say, stored } = await chat(agent);
  await expect(say('go')).rejects.toThrow(/state key "seen" cannot be written here/);
  expect((await stored()).state).toEqual({});
});

const noted = (fields: object) => ({ content: { role: 'model', parts: [{ text: 'noted' }] }, ...fields });

it('completes events of user code without author and invocation as events of the agent', async () => {
  class Own extends BaseAgent {
    protected override async *runAsyncImpl() {
      yield createEvent(noted({ actions: { stateDelta: { done: true } } }));
    }
  }
  const { say, stored } = await chat(new Own({ name: 'own' }));
  const [event] = await say('go');
  expect(event?.author).toBe('own');
  const { events, state } = await stored();
  expect(events[1]?.invocationId).toBe(events[0]?.invocationId);
  expect(state).toEqual({ done: true });
  expect((await runWithCrashes(new Own({ name: 'own' }))).map(brief)).toEqual(['own: noted']);
});

it('gives ids to events that a subclass of LlmAgent yields after the model', async () => {
  class Polite extends LlmAgent {
    protected override async *runAsyncImpl(context: InvocationContext) {
      yield* super.runAsyncImpl(context);
      yield createEvent(noted({}));
    }
  }
  const { llm } = await scriptedModel({ text: 'done' });
  const { say } = await chat(new Polite({ name: 'polite', model: llm }));
  expect((await say('go')).map(brief)).toEqual(['polite: done', 'polite: noted']);
});

it('leaves thoughts out of the text of an event', () => {
  const parts = [{ text: 'hm', thought: true }, { text: 'four' }, { text: 'teen' }];
  expect(stringifyContent(createEvent({ content: { parts } }))).toBe('fourteen');
});

it('takes back what was written, unless somebody else has written since', () => {
  const value: Record<string, unknown> = { old: 1 };
  const [one, other] = [new State(value), new State(value)];
  for (const key of ['old', 'new']) {
    one.set(key, 2);
    one.set(key, 3);
    one.takeBack(key);
  }
  expect(value).toEqual({ old: 1 });
  expect(one.hasDelta()).toBe(false);
  one.set('old', 4);
  other.set('old', 5);
  one.takeBack('old');
  expect(value).toEqual({ old: 5 });
});

it('reads no state on that a call wrote and JSON cannot hold', async () => {
  const { llm } = await scriptedModel(call('write'), call('read'), { text: 'done' });
  const write = new FunctionTool({
    name: 'write',
    description: 'writes',
    execute: (_args, context) => context?.state.set('x', 10n),
  });
  const read = new FunctionTool({
    name: 'read',
    description: 'reads',
    execute: (_args, context) => context?.state.get('x'),
  });
  const agent = new LlmAgent({ name: 'root', model: llm, tools: [write, read] });
  const { say } = await chat(agent, { x: 1 }, { onFailure: () => {} });
  expect((await say('go')).map(brief)[3]).toBe('root: gets {"result":1}');
});
