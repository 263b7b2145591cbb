import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentTool, BaseLlm, FunctionTool, LlmAgent, type LlmResponse } from '@agentmesh/agent';
import { type Metrics, startMetrics } from '@agentmesh/service';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { calls, memoryMesh, ScriptedLlm, says, untilWaiting } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';

let shown: Metrics;
const server = createServer((request, response) => shown.answer(request, response));
const page = async () =>
  await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).text();

beforeAll(async () => {
  shown = await startMetrics({ service: 'test', replica: 'test-1' });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await shown[Symbol.asyncDispose]();
});

it('count runs, asks and calls by their names and outcomes, and the failures of tools', async () => {
  const world = memoryMesh();
  const clerk = new LlmAgent({ name: 'clerk', model: new ScriptedLlm(says('hello')) });
  const weigh = new FunctionTool({
    name: 'weigh',
    description: 'weighs',
    execute: () => {
      throw new Error('the scales are broken');
    },
  });
  const desk = new LlmAgent({
    name: 'desk',
    model: new ScriptedLlm(calls('weigh'), calls('clerk', { request: 'hi' }), says('done')),
    tools: [remoteTool('weigh'), new AgentTool({ agent: remoteAgent('clerk') })],
  });
  await serveTool(await world.connect('tool_weigh'), weigh);
  await serveAgent(await world.connect('agent_clerk'), clerk);
  await serveAgent(await world.connect('agent_desk'), desk, { app: 'desk_app' });
  const { client, ref } = await world.chat('desk_app');
  const run = await startRun(client, { app: 'desk_app', user: 'u', session: ref.sessionId, message: 'go' });
  await Array.fromAsync(run.events);
  await expect
    .poll(page)
    .toMatch(/agentmesh_work_duration_count\{kind="run",name="desk",outcome="completed".*\} 1/);
  expect(await page()).toMatch(
    /agentmesh_work_duration_count\{kind="ask",name="clerk",outcome="completed".*\} 1/,
  );
  expect(await page()).toMatch(
    /agentmesh_work_duration_count\{kind="call",name="weigh",outcome="failed".*\} 1/,
  );
  expect(await page()).toMatch(/agentmesh_session_reads_total\{cache="miss".*\} 1/);
  expect(await page()).toMatch(/agentmesh_failures_total\{what="tool",name="weigh".*\} 1/);
  expect(await page()).toMatch(/agentmesh_calls_total\{kind="agent",name="clerk",outcome="completed".*\} 1/);
  expect(await page()).toMatch(/agentmesh_calls_total\{kind="tool",name="weigh",outcome="failed".*\} 1/);
  for (const kind of ['run', 'ask', 'call'])
    expect(await page()).toMatch(new RegExp(`agentmesh_work_active\\{kind="${kind}".*\\} 0`));
});

it('count the waits of runs for their session with their time, and sessions that were in the cache', async () => {
  const world = memoryMesh();
  const gate = Promise.withResolvers<void>();
  const slow = new LlmAgent({
    name: 'slow',
    model: new ScriptedLlm(says('one'), says('two')),
    beforeModelCallback: async () => void (await gate.promise),
  });
  await serveAgent(await world.connect('agent_slow'), slow, { app: 'slow' });
  const { client, ref } = await world.chat('slow');
  const request = { app: 'slow', user: 'u', session: ref.sessionId };
  const hits = async () => Number(/session_reads_total\{cache="hit".*\} (\d+)/.exec(await page())?.[1] ?? 0);
  const before = await hits();
  const first = await startRun(client, { ...request, message: 'first' });
  await expect.poll(page).toMatch(/agentmesh_work_active\{kind="run",name="slow".*\} 1/);
  const second = await startRun(client, { ...request, message: 'second' });
  await untilWaiting(client, ref, second);
  await expect.poll(page).toMatch(/agentmesh_session_waits_total\{name="slow",reason="session".*\} 1/);
  expect(await page()).not.toMatch(/agentmesh_session_wait_duration_count\{name="slow"/);
  gate.resolve();
  await Promise.all([Array.fromAsync(first.events), Array.fromAsync(second.events)]);
  await expect.poll(page).toMatch(/agentmesh_session_wait_duration_count\{name="slow".*\} 1/);
  expect(await hits()).toBe(before + 1);
});

it('count a run that a stopped replica handed back as delivered again', async () => {
  const world = memoryMesh();
  const hangs = () => new Promise<never>(() => {});
  const of = (beforeModelCallback: () => Promise<undefined>) =>
    new LlmAgent({ name: 'moved', model: new ScriptedLlm(says('done')), beforeModelCallback });
  const stopped = await serveAgent(await world.connect('agent_moved'), of(hangs), {
    app: 'moved',
  });
  const { client, ref } = await world.chat('moved');
  const run = await startRun(client, { app: 'moved', user: 'u', session: ref.sessionId, message: 'go' });
  await expect.poll(page).toMatch(/agentmesh_work_active\{kind="run",name="moved".*\} 1/);
  expect(await page()).not.toMatch(/agentmesh_work_redeliveries_total\{kind="run",name="moved"/);
  await stopped.stop({ graceMs: 0 });
  await serveAgent(
    await world.connect('agent_moved'),
    of(async () => undefined),
    { app: 'moved' },
  );
  await Array.fromAsync(run.events);
  expect(await page()).toMatch(/agentmesh_work_redeliveries_total\{kind="run",name="moved".*\} [12]/);
});

it('count the tokens of a model and their cost by its price', async () => {
  class Counting extends BaseLlm {
    override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
      const usageMetadata = {
        promptTokenCount: 1_000_000,
        cachedContentTokenCount: 400_000,
        candidatesTokenCount: 200_000,
        thoughtsTokenCount: 100_000,
      };
      yield {
        content: { role: 'model', parts: [{ text: 'hello' }] },
        modelVersion: this.model,
        usageMetadata,
      };
    }
  }
  const world = memoryMesh({
    priceOf: (model) => (model === 'dear' ? { input: 2, output: 10, cached: 0.5 } : undefined),
  });
  for (const model of ['dear', 'unpriced']) {
    const agent = new LlmAgent({ name: `with_${model}`, model: new Counting({ model }) });
    await serveAgent(await world.connect(`agent_with_${model}`), agent, { app: `with_${model}` });
    await (await world.chat(`with_${model}`)).say('hello');
  }
  const of = 'agent="with_dear",model="dear"';
  expect(await page()).toMatch(new RegExp(`model_tokens_total\\{${of},type="input".*\\} 1000000`));
  expect(await page()).toMatch(new RegExp(`model_tokens_total\\{${of},type="cached".*\\} 400000`));
  expect(await page()).toMatch(new RegExp(`model_tokens_total\\{${of},type="output".*\\} 300000`));
  // 0.6 million at 2, 0.4 at 0.5, 0.3 at 10.
  expect(await page()).toMatch(new RegExp(`model_cost_total\\{${of}.*\\} 4\\.4`));
  expect(await page()).toMatch(/model_tokens_total\{agent="with_unpriced"/);
  expect(await page()).not.toMatch(/model_cost_total\{agent="with_unpriced"/);
});
