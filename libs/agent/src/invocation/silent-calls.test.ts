import { runConfigSchema } from '@agentmesh/protocol';
import { expect, it, vi } from 'vitest';
import type { Context } from '../base/context.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool, LongRunningFunctionTool } from '../tools/function-tool.ts';
import { runInvocation } from './invocation.ts';

const call = (name: string) => ({ calls: [{ name, args: {} }] });
const silent = (execute: (context: Context) => void) =>
  new LongRunningFunctionTool({
    name: 'silent',
    description: 'says nothing',
    execute: (_args, context) => {
      if (context) execute(context);
    },
  });

it('keeps the state that a long-running tool without a first result wrote, in an event without content', async () => {
  const { llm } = await scriptedModel(call('silent'), { text: 'approved' });
  const tool = silent(({ state }) => state.set('asked', 1));
  const { say, answer, stored } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [tool] }));
  const [asking, effects, ...others] = await say('go');
  expect(others).toEqual([]);
  expect(effects).toMatchObject({ author: 'root', actions: { stateDelta: { asked: 1 } } });
  expect(effects?.content).toBeUndefined();
  expect((await stored()).state).toEqual({ asked: 1 });
  const events = await answer(asking?.longRunningToolIds?.[0], { status: 'approved' });
  expect(events.map(brief)).toEqual(['root: approved']);
});

it('does not repeat a call without a result when a process dies after its effects are committed', async () => {
  const { llm } = await scriptedModel(call('silent'));
  const ask = vi.fn(({ state }: Context) => state.set('asked', 1));
  const agent = new LlmAgent({ name: 'root', model: llm, tools: [silent(ask)] });
  const { say, stored, runner } = await chat(agent);
  const [{ invocationId = '' } = {}] = await say('go');
  const [session, runConfig] = [await stored(), runConfigSchema.parse({})];
  const { sessionService } = runner;
  const again = runInvocation({ agent, session, sessionService, invocationId, runConfig });
  expect(await Array.fromAsync(again)).toEqual([]);
  expect(ask).toHaveBeenCalledTimes(1);
});

it('transfers when a long-running tool without a first result requests it', async () => {
  const { llm } = await scriptedModel(call('silent'), { text: 'here' });
  const tool = silent(({ actions }) => {
    actions.transferToAgent = 'helper';
  });
  const helper = new LlmAgent({ name: 'helper', model: llm });
  const root = new LlmAgent({ name: 'root', model: llm, tools: [tool], subAgents: [helper] });
  const { say } = await chat(root);
  expect((await say('go')).map(brief)).toEqual(['root: calls silent', 'root: ', 'helper: here']);
});

it('calls afterToolCallback for a long-running tool without a first result, which may give one', async () => {
  const { llm } = await scriptedModel(call('silent'), { text: 'waiting' });
  const after = vi.fn(() => ({ status: 'pending' }));
  const tools = [silent(() => {})];
  const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools, afterToolCallback: after }));
  const events = await say('go');
  expect(events.map(brief)[1]).toBe('root: gets {"status":"pending"}');
  expect(after).toHaveBeenCalledWith(expect.objectContaining({ response: undefined }));
});

it('calls afterAgentCallback once, behind the answer, when a call waits for a confirmation', async () => {
  const { llm } = await scriptedModel(call('pay'), { text: 'noon' }, { text: 'paid' });
  const pay = new FunctionTool({
    name: 'pay',
    description: 'pays',
    requireConfirmation: true,
    execute: () => ({ ok: true }),
  });
  const after = vi.fn();
  const agent = new LlmAgent({ name: 'root', model: llm, tools: [pay], afterAgentCallback: after });
  const { say, answer } = await chat(agent);
  const question = (await say('go')).at(-1)?.longRunningToolIds?.[0];
  expect(after).toHaveBeenCalledTimes(0);
  await say('what time is it?');
  expect(after).toHaveBeenCalledTimes(1);
  await answer(question, { confirmed: true }, { name: 'adk_request_confirmation' });
  expect(after).toHaveBeenCalledTimes(2);
});

it('does not call afterAgentCallback when calls are left to the client', async () => {
  const { llm } = await scriptedModel(call('pay'), { text: 'paid' });
  const pay = new FunctionTool({ name: 'pay', description: 'pays', execute: () => ({}) });
  const after = vi.fn();
  const agent = new LlmAgent({ name: 'root', model: llm, tools: [pay], afterAgentCallback: after });
  const { say, answer } = await chat(agent);
  const id = (await say('go', { pauseOnToolCalls: true }))[0]?.longRunningToolIds?.[0];
  expect(after).toHaveBeenCalledTimes(0);
  await answer(id, { ok: true });
  expect(after).toHaveBeenCalledTimes(1);
});
