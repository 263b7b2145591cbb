import { AgentTool, type Context, FunctionTool, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { type Caller, header } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { startRun } from '../client/start-run.ts';
import { calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';
import { createCallers, memoryCallerKeys } from './callers.ts';
import type { Mesh } from './mesh.ts';

const ann: Caller = { via: 'keys', user: 'ann', roles: ['user', 'manager'], key: 'laptop' };

/** A tool that notes its caller. */
function noting(name: string, seen: [string, Caller | undefined][]) {
  return new FunctionTool({
    ...{ name, description: 'notes its caller', parameters: z.object({}) },
    execute: (_args, context?: Context) => {
      seen.push([name, context?.caller]);
      return { done: true };
    },
  });
}

/** Starts a mesh whose tools, remote, local, of an asked agent, of a transfer and of a job, note their caller. */
async function start() {
  const mesh = memoryMesh();
  const seen: [string, Caller | undefined][] = [];
  const job = new LongRunningFunctionTool({
    ...{ name: 'job', description: 'works long', parameters: z.object({}) },
    async *execute(_args, context?: Context) {
      seen.push(['job', context?.caller]);
      yield { at: 1 };
      return { done: true };
    },
  });
  await serveTool(await mesh.connect('tool_far'), noting('far', seen));
  await serveTool(await mesh.connect('tool_job'), job);
  const helperModel = new ScriptedLlm(calls('helped'), says('helped'));
  const helper = new LlmAgent({ name: 'helper', model: helperModel, tools: [noting('helped', seen)] });
  await serveAgent(await mesh.connect('agent_helper'), helper);
  const next = new LlmAgent({
    ...{ name: 'next', model: new ScriptedLlm(calls('last'), says('bye')), description: 'comes next' },
    tools: [noting('last', seen)],
  });
  await serveAgent(await mesh.connect('agent_next'), next);
  const inner = new LlmAgent({
    ...{
      name: 'inner',
      model: new ScriptedLlm(calls('within'), says('inner')),
      description: 'is asked here',
    },
    tools: [noting('within', seen)],
  });
  const front = new LlmAgent({
    name: 'front',
    model: new ScriptedLlm(
      calls('near'),
      calls('far'),
      calls('helper', { request: 'help' }),
      calls('inner', { request: 'help' }),
      calls('job'),
      calls('transfer_to_agent', { agentName: 'next' }),
    ),
    tools: [
      ...[noting('near', seen), remoteTool('far'), remoteTool('job')],
      ...[new AgentTool({ agent: remoteAgent('helper') }), new AgentTool({ agent: inner })],
    ],
    subAgents: [remoteAgent('next')],
  });
  await serveAgent(await mesh.connect('agent_front'), front, { app: 'shop' });
  const gateway = await mesh.connect('gateway');
  await until(
    () => gateway.bus.directory.list('tool').length === 2 && gateway.bus.directory.list('agent').length === 3,
  );
  const { id: session } = await mesh.sessions.createSession({ appName: 'shop', userId: 'ann' });
  return { seen, gateway, request: { app: 'shop', user: 'ann', session, message: 'go' } };
}

const everywhere = ['near', 'far', 'helped', 'within', 'job', 'last'];

it('a caller is known to every tool of its run, also over calls, asks, jobs and transfers', async () => {
  const { seen, gateway, request } = await start();
  const { events, end } = await startRun(gateway, { ...request, caller: ann });
  await Array.fromAsync(events);
  expect(await end).toMatchObject({ status: 'completed' });
  expect(seen).toEqual(everywhere.map((name) => [name, ann]));
});

it('a run that no authenticated caller began has none', async () => {
  const { seen, gateway, request } = await start();
  const { events } = await startRun(gateway, request);
  await Array.fromAsync(events);
  expect(seen).toEqual(everywhere.map((name) => [name, undefined]));
});

it('an identity of another signer, or of another run, is refused', async () => {
  const { seen, gateway, request } = await start();
  const forger = createCallers(memoryCallerKeys());
  const forged: Mesh = { ...gateway, callers: forger };
  const failed = await startRun(forged, { ...request, caller: { ...ann, roles: ['admin'] } });
  await Array.fromAsync(failed.events);
  expect(await failed.end).toMatchObject({
    status: 'failed',
    error: { code: 'permission_denied', message: expect.stringContaining('not signed by a gateway') },
  });
  const stolen = await gateway.callers.sign({ appName: 'shop', userId: 'ann', invocationId: 'e-old' }, ann);
  const thief: Mesh = { ...gateway, callers: { ...forger, sign: async () => stolen } };
  const replayed = await startRun(thief, { ...request, caller: ann });
  await Array.fromAsync(replayed.events);
  expect(await replayed.end).toMatchObject({
    status: 'failed',
    error: { code: 'permission_denied', message: expect.stringContaining('for another run') },
  });
  expect(seen).toEqual([]);
});

it('a tool refuses a call with an identity that was made up', async () => {
  const { seen, gateway } = await start();
  const work = { appName: 'shop', userId: 'ann', invocationId: 'e-1' };
  const forged = await createCallers(memoryCallerKeys()).sign(work, ann);
  const context = { app: 'shop', user: 'ann', session: 's', invocationId: 'e-1', agent: 'front' };
  const send = async (headers: Record<string, string>) => {
    const frames = gateway.bus.request(
      gateway.subjects.toolCall('far'),
      { callId: 'c', args: {}, context },
      { headers },
    );
    return await Array.fromAsync(frames);
  };
  await expect(send(forged)).rejects.toMatchObject({ code: 'permission_denied' });
  await expect(send({ [header.identity]: 'nonsense' })).rejects.toMatchObject({ code: 'permission_denied' });
  expect(seen).toEqual([]);
  await send(await gateway.callers.sign(work, ann));
  expect(seen).toEqual([['far', ann]]);
});
