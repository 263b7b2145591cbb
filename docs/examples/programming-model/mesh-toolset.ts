import { FunctionTool, LlmAgent } from '@agentmesh/agent';
import { MeshToolset, serveAgent, serveTool, startRun } from '@agentmesh/mesh';
import { until } from '@agentmesh/testing';
import { z } from 'zod';
import { printEvent } from './chat.ts';
import { startLocalMesh } from './local-mesh.ts';

const tool = (name: string, compute: (a: number, b: number) => number) =>
  new FunctionTool({
    name,
    description: `Does the ${name} of two numbers.`,
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => compute(a, b),
  });

await using mesh = await startLocalMesh(['clerk']);
await mesh.serve('process 1', (own) =>
  serveTool(
    own,
    tool('math_add', (a, b) => a + b),
  ),
);

// All tools on the bus with these names. The agent needs no other knowledge of them.
const math = new MeshToolset({ names: 'math_*' });
const clerk = new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash', tools: [math] });
await mesh.serve('process 2', (own) => serveAgent(own, clerk, { app: 'math_app' }));

const client = await mesh.connect('client');
async function ask(text: string, tools: number): Promise<void> {
  // The list of tools follows a change a moment later. The example waits, so that its output is always the
  // same.
  const there = await until(async () => {
    const found = await math.getTools();
    return found.length === tools && found.map(({ name }) => name).toSorted();
  });
  console.log(`there: ${there}\nann: ${text}`);
  const ref = { appName: 'math_app', userId: 'ann' };
  const { id: session } = await client.sessions.createSession(ref);
  const message = { role: 'user', parts: [{ text }] };
  const { events } = await startRun(client, { app: 'math_app', user: 'ann', session, message });
  for await (const event of events) printEvent(event);
}

await ask('What is 6 + 3?', 1);
await ask('What is 6 / 3?', 1);
const division = await mesh.serve('process 3', (own) =>
  serveTool(
    own,
    tool('math_divide', (a, b) => a / b),
  ),
);
await ask('And now, what is 6 / 3?', 2);
await division.stop();
await ask('Again: what is 6 / 3?', 1);
