import {
  AgentTool,
  FunctionTool,
  getFunctionCalls,
  getFunctionResponses,
  LlmAgent,
  LongRunningFunctionTool,
  SequentialAgent,
} from '@agentmesh/agent';
import type { Event } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';
import { pendingCalls } from './pending-requests.ts';

/** Makes a tool that pays the confirmed sum, and the list of its payments. */
function cashier() {
  const paid: unknown[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: 'pays',
    execute: (_args, context) => {
      if (!context?.toolConfirmation)
        return context?.requestConfirmation({ hint: 'pay?', payload: { sum: 9 } });
      paid.push(context.toolConfirmation.payload);
      return { paid: context.toolConfirmation.payload };
    },
  });
  return { pay, paid };
}

async function conversation() {
  const world = memoryMesh();
  const chat = async () => {
    const { client, ref, say } = await world.chat('app');
    const answer = async (events: readonly Event[], response: Record<string, unknown>) => {
      const question = events
        .flatMap(getFunctionCalls)
        .findLast(({ name }) => name?.startsWith('adk_request'));
      const functionResponse = { id: question?.id ?? '', name: 'adk_request_confirmation', response };
      const run = await startRun(client, {
        app: 'app',
        user: 'u',
        session: ref.sessionId,
        message: { role: 'user', parts: [{ functionResponse }] },
      });
      return { agent: run.agent, events: await Array.fromAsync(run.events), end: await run.end };
    };
    return { ref, say, answer };
  };
  return { world, chat };
}

describe('a confirmation across processes', () => {
  it('is asked by a tool in another process, which continues with the data that the person filled in', async () => {
    const { world, chat } = await conversation();
    const { pay, paid } = cashier();
    await serveTool(await world.connect('tool_pay'), pay);
    const root = new LlmAgent({
      name: 'root',
      model: new ScriptedLlm(calls('pay'), says('done')),
      tools: [remoteTool('pay')],
    });
    await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
    const { say, answer } = await chat();
    const { events } = await say('go');
    expect(events.map(brief)).toEqual(['root: calls pay', 'root: calls adk_request_confirmation']);
    const after = await answer(events, { confirmed: true, payload: { sum: 3 } });
    expect(after.events.map(brief)).toEqual(['root: gets {"paid":{"sum":3}}', 'root: done']);
    await expect(answer(events, { confirmed: true })).rejects.toMatchObject({ code: 'failed_precondition' });
    expect(paid).toEqual([{ sum: 3 }]);
  });

  it('reaches the agent that asked, wherever the conversation is', async () => {
    const { world, chat } = await conversation();
    const { pay, paid } = cashier();
    const helper = new LlmAgent({
      name: 'helper',
      model: new ScriptedLlm(calls('pay'), calls('transfer_to_agent', { agentName: 'root' }), says('done')),
      tools: [pay],
    });
    const root = new LlmAgent({
      name: 'root',
      model: new ScriptedLlm(calls('transfer_to_agent', { agentName: 'helper' }), says('hello')),
      subAgents: [remoteAgent('helper')],
    });
    await serveAgent(await world.connect('agent_helper'), helper);
    await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
    const { say, answer } = await chat();
    const { events } = await say('go');
    expect(events.map(brief).at(-1)).toBe('helper: calls adk_request_confirmation');
    expect((await say('back to root')).events.map(brief).at(-1)).toBe('root: hello');
    const after = await answer(events, { confirmed: true });
    expect(after.agent).toBe('helper');
    expect(after.events.map(brief)).toEqual(['helper: gets {"paid":{"sum":9}}', 'helper: done']);
    expect(paid).toHaveLength(1);
  });

  it('of a remote agent that is used as a tool is asked by the caller, which gets the answer', async () => {
    const { world, chat } = await conversation();
    const { pay, paid } = cashier();
    const child = new LlmAgent({
      name: 'child',
      model: new ScriptedLlm(calls('pay'), says('paid')),
      tools: [remoteTool('pay')],
    });
    const root = new LlmAgent({
      name: 'root',
      model: new ScriptedLlm(calls('child', { request: 'pay' }), says('done')),
      tools: [new AgentTool({ agent: remoteAgent('child') })],
    });
    await serveTool(await world.connect('tool_pay'), pay);
    await serveAgent(await world.connect('agent_child'), child);
    await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
    const { say, answer } = await chat();
    const { events } = await say('go');
    expect(events.map(brief)).toEqual(['root: calls child', 'root: calls adk_request_confirmation']);
    // People see one question, although the child waits for its answer in a session of its own.
    const user = { appName: 'app', userId: 'u' };
    const inner = (await world.sessions.pending.list(user)).find(({ agent }) => agent === 'child');
    const client = await world.connect('client');
    expect(await pendingCalls(client, { app: 'app', user: 'u' })).toMatchObject([{ agent: 'root' }]);
    const functionResponse = { id: inner?.id ?? '', response: { confirmed: true } };
    const message = { role: 'user', parts: [{ functionResponse }] };
    const past = { app: 'app', user: 'u', session: inner?.sessionId ?? '', message };
    await expect(startRun(client, past)).rejects.toMatchObject({ code: 'failed_precondition' });
    const after = await answer(events, { confirmed: true, payload: { sum: 2 } });
    expect(after.events.map(brief)).toEqual(['root: gets {"result":"paid"}', 'root: done']);
    expect(paid).toEqual([{ sum: 2 }]);
  });

  it('pauses a workflow at a remote step; the workflow continues after the answer', async () => {
    const { world, chat } = await conversation();
    const { pay, paid } = cashier();
    const payer = new LlmAgent({
      name: 'payer',
      model: new ScriptedLlm(calls('pay'), says('done')),
      tools: [pay],
    });
    const booker = new LlmAgent({ name: 'booker', model: new ScriptedLlm(says('booked')) });
    const pipeline = new SequentialAgent({ name: 'pipeline', subAgents: [remoteAgent('payer'), booker] });
    await serveAgent(await world.connect('agent_payer'), payer);
    await serveAgent(await world.connect('agent_pipeline'), pipeline, { app: 'app' });
    const { say, answer } = await chat();
    const { events } = await say('go');
    expect(events.map(brief)).toEqual(['payer: calls pay', 'payer: calls adk_request_confirmation']);
    const after = await answer(events, { confirmed: true });
    expect(after.agent).toBe('pipeline');
    expect(after.events.map(brief)).toEqual([
      'payer: gets {"paid":{"sum":9}}',
      'payer: done',
      'booker: booked',
    ]);
    expect(paid).toHaveLength(1);
  });
});

describe('a long-running tool in another process', () => {
  it('that is a generator reports progress, and its return value is the result', async () => {
    const { world, chat } = await conversation();
    const convert = new LongRunningFunctionTool({
      name: 'convert',
      description: 'converts',
      async *execute() {
        yield { percent: 50 };
        yield { percent: 90 };
        return { done: true };
      },
    });
    await serveTool(await world.connect('tool_convert'), convert);
    const llm = new ScriptedLlm(calls('convert'), says('done'));
    const root = new LlmAgent({ name: 'root', model: llm, tools: [remoteTool('convert')] });
    await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
    const { events } = await (await chat()).say('go');
    expect(events.map(brief)).toEqual([
      'root: calls convert',
      'root: gets {"percent":50}',
      'root: gets {"percent":90}',
      'root: gets {"done":true}',
      'root: done',
    ]);
    expect(events.flatMap(getFunctionResponses).map(({ willContinue }) => willContinue)).toEqual([
      true,
      true,
      false,
    ]);
  });
});
