import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentTool, FunctionTool, LlmAgent } from '@agentmesh/agent';
import { startMetrics } from '@agentmesh/service';
import { expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';

it('count runs, asks and calls by their names and outcomes, and the failures of tools', async () => {
  await using shown = await startMetrics({ service: 'test', replica: 'test-1' });
  await using server = createServer((request, response) => shown.answer(request, response)).listen(
    0,
    '127.0.0.1',
  );
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
  const page = async () =>
    await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).text();
  await expect
    .poll(page)
    .toMatch(/agentmesh_work_duration_count\{kind="run",name="desk",outcome="completed".*\} 1/);
  expect(await page()).toMatch(
    /agentmesh_work_duration_count\{kind="ask",name="clerk",outcome="completed".*\} 1/,
  );
  expect(await page()).toMatch(
    /agentmesh_work_duration_count\{kind="call",name="weigh",outcome="failed".*\} 1/,
  );
  expect(await page()).toMatch(/agentmesh_failures_total\{what="tool",name="weigh".*\} 1/);
  for (const kind of ['run', 'ask', 'call'])
    expect(await page()).toMatch(new RegExp(`agentmesh_work_active\\{kind="${kind}".*\\} 0`));
});
