import { AgentTool, FunctionTool, getFunctionCalls, LlmAgent, SequentialAgent } from '@agentmesh/agent';
import type { Event } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';

/** Makes a tool that asks twice: for words, then for a number. */
function agency() {
  const told: unknown[] = [];
  const book = new FunctionTool({
    name: 'book',
    description: 'books',
    execute: (_args, context) => {
      told.push(context?.inputResponse);
      const { answers = 0, inputResponse } = context ?? {};
      if (answers === 0) return context?.requestInput({ message: 'where?' });
      if (answers === 1)
        return context?.requestInput({ message: `nights in ${inputResponse}?`, responseSchema: z.number() });
      return { nights: inputResponse };
    },
  });
  return { book, told };
}

async function conversation() {
  const world = memoryMesh();
  const chat = async () => {
    const { client, ref, say } = await world.chat('app');
    const answer = async (events: readonly Event[], result: unknown) => {
      const id = events.flatMap(getFunctionCalls).at(-1)?.id ?? '';
      const functionResponse = { id, name: 'adk_request_input', response: { result } };
      const message = { role: 'user', parts: [{ functionResponse }] };
      const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message });
      return await Array.fromAsync(run.events);
    };
    return { say, answer };
  };
  return { world, chat };
}

describe('an input across processes', () => {
  it('is asked by a tool in another process, in a step of a workflow', async () => {
    const { world, chat } = await conversation();
    const { book, told } = agency();
    await serveTool(await world.connect('tool_book'), book);
    const booker = new LlmAgent({
      name: 'booker',
      model: new ScriptedLlm(calls('book'), says('booked')),
      tools: [remoteTool('book')],
    });
    const packer = new LlmAgent({ name: 'packer', model: new ScriptedLlm(says('packed')) });
    const holiday = new SequentialAgent({ name: 'holiday', subAgents: [remoteAgent('booker'), packer] });
    await serveAgent(await world.connect('agent_booker'), booker);
    await serveAgent(await world.connect('agent_holiday'), holiday, { app: 'app' });
    const { say, answer } = await chat();
    const { events } = await say('go');
    const second = await answer(events, 'Rome');
    expect(second.flatMap(getFunctionCalls).at(-1)?.args).toMatchObject({ message: 'nights in Rome?' });
    await expect(answer(second, 'two')).rejects.toMatchObject({ code: 'invalid_argument' });
    const last = await answer(second, 2);
    expect([...events, ...second, ...last].map(brief)).toEqual([
      'booker: calls book',
      'booker: calls adk_request_input',
      'booker: calls adk_request_input',
      'booker: gets {"nights":2}',
      'booker: booked',
      'packer: packed',
    ]);
    expect(told).toEqual([undefined, 'Rome', 2]);
  });

  it('of a remote agent that is used as a tool is asked by the caller', async () => {
    const { world, chat } = await conversation();
    const { book, told } = agency();
    const child = new LlmAgent({
      name: 'child',
      model: new ScriptedLlm(calls('book'), says('booked')),
      tools: [book],
    });
    const root = new LlmAgent({
      name: 'root',
      model: new ScriptedLlm(calls('child', { request: 'book' }), says('done')),
      tools: [new AgentTool({ agent: remoteAgent('child') })],
    });
    await serveAgent(await world.connect('agent_child'), child);
    await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
    const { say, answer } = await chat();
    const { events } = await say('go');
    const second = await answer(events, 'Rome');
    const last = await answer(second, 2);
    expect([...events, ...second, ...last].map(brief)).toEqual([
      'root: calls child',
      'root: calls adk_request_input',
      'root: calls adk_request_input',
      'root: gets {"result":"booked"}',
      'root: done',
    ]);
    expect(told).toEqual([undefined, 'Rome', 2]);
  });
});
