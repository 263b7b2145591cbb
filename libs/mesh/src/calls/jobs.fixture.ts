import { type Context, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { until } from '@agentmesh/testing';
import { brief, calls, memoryMesh, ScriptedLlm } from '../harness.fixture.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { type ServeToolOptions, serveTool } from '../serve/serve-tool.ts';

export type Work = (args: unknown, context?: Context) => unknown;

/**
 * Makes an agent, a long-running tool in a process of its own, and a conversation.
 *
 * @param options of the tool, or its `patienceMs`
 */
export async function workshop(
  work: Work,
  options: number | ServeToolOptions,
  ...answers: ConstructorParameters<typeof ScriptedLlm>
) {
  const world = memoryMesh();
  const serving = typeof options === 'number' ? { patienceMs: options } : options;
  const serveWork = async (execute: Work) => {
    const mesh = await world.connect('tool_work');
    const tool = new LongRunningFunctionTool({ name: 'work', description: 'works', execute });
    const started = await serveTool(mesh, tool, serving);
    return { mesh, ...started };
  };
  const first = await serveWork(work);
  const mesh = await world.connect('agent_solo');
  const model = new ScriptedLlm(calls('work'), ...answers);
  await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [remoteTool('work')] }), { app: 'app' });
  const chat = await world.chat('app');
  const briefs = async () => ((await world.sessions.getSession(chat.ref))?.events ?? []).map(brief);
  return {
    ...chat,
    world,
    first,
    serveWork,
    model,
    briefs,
    ends: (line: string) => until(async () => (await briefs()).at(-1) === line),
  };
}
