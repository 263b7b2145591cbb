import { EXIT_LOOP, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent } from '@agentmesh/agent';
import { remoteAgent, serveAgent, startRun } from '@agentmesh/mesh';
import { printEvent } from './chat.ts';
import { startLocalMesh } from './local-mesh.ts';

const writer = (name: string, instruction: string, more = {}) =>
  new LlmAgent({ name, model: 'gemini-2.5-flash', instruction, outputKey: name, ...more });

await using mesh = await startLocalMesh(['german', 'critic', 'studio']);
await mesh.serve('process 1', (own) => serveAgent(own, writer('german', 'To German: {line}')));
const critic = writer('critic', 'Check {french} and {german}; call exit_loop.', { tools: [EXIT_LOOP] });
await mesh.serve('process 2', (own) => serveAgent(own, critic));

// The children run in different processes, but all of them work in one session.
const studio = new SequentialAgent({
  name: 'studio',
  subAgents: [
    writer('line', 'Write a line.'),
    new ParallelAgent({
      name: 'translators',
      subAgents: [writer('french', 'To French: {line}'), remoteAgent('german')],
    }),
    new LoopAgent({ name: 'checks', maxIterations: 3, subAgents: [remoteAgent('critic')] }),
  ],
});
await mesh.serve('process 3', (own) => serveAgent(own, studio, { app: 'studio_app' }));

const client = await mesh.connect('client');
await client.sessions.createSession({ appName: 'studio_app', userId: 'ann', sessionId: 's1' });
const run = await startRun(client, {
  app: 'studio_app',
  user: 'ann',
  session: 's1',
  message: { role: 'user', parts: [{ text: 'A line about the moon.' }] },
});
const events = await Array.fromAsync(run.events);
// The events of the parallel agent come in any order. They are sorted here, so that the output is always the
// same.
const sorted = events.toSorted((a, b) => (a.branch && b.branch ? a.branch.localeCompare(b.branch) : 0));
for (const event of sorted) {
  console.log(`[${mesh.serviceOf(event)}${event.branch ? `, branch ${event.branch}` : ''}]`);
  printEvent(event);
}
