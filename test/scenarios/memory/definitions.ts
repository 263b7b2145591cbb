import {
  type Context,
  FunctionTool,
  Gemini,
  LlmAgent,
  loadMemoryTool,
  preloadMemoryTool,
} from '@agentmesh/agent';
import { remoteTool } from '@agentmesh/mesh';
import { z } from 'zod';

const { MODEL_URL = '' } = process.env;
const model = new Gemini({ model: 'gemini-test', apiKey: 'scripted', baseUrl: MODEL_URL });

/** A tool in its own process that searches memory and adds to it. */
export const notebook = new FunctionTool({
  name: 'notebook',
  description: 'finds what the user said, or notes something down',
  usesMemory: true,
  parameters: z.object({ find: z.string().optional(), note: z.string().optional() }),
  async execute({ find = '', note }, context?: Context) {
    if (note !== undefined) await context?.addMemory([{ content: { parts: [{ text: note }] } }]);
    const found = await context?.searchMemory(find);
    return { pid: process.pid, found: found?.memories.map(({ content }) => content.parts?.[0]?.text) };
  },
});

/** An agent that adds each turn to memory, and uses the memories of other sessions. */
export const host = new LlmAgent({
  name: 'host',
  description: 'knows its guests',
  model,
  tools: [preloadMemoryTool, loadMemoryTool, remoteTool('notebook')],
  afterAgentCallback: async (context) => {
    await context.addSessionToMemory();
    return undefined;
  },
});
