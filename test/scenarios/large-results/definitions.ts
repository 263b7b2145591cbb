import { AgentTool, FunctionTool, Gemini, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { remoteAgent, remoteTool } from '@agentmesh/mesh';
import { z } from 'zod';

const { MODEL_URL = '' } = process.env;
const model = new Gemini({ model: 'gemini-test', apiKey: 'scripted', baseUrl: MODEL_URL });
const parameters = z.object({ size: z.number() });

/** A tool that returns a text of the given size. */
export const write = new FunctionTool({
  name: 'write',
  description: 'writes a long text',
  parameters,
  execute: ({ size }) => ({ text: 'w'.repeat(size) }),
});

/** The same tool as a job, with progress. */
export const writeLater = new LongRunningFunctionTool({
  name: 'write_later',
  description: 'writes a long text, in time',
  parameters,
  async *execute({ size }) {
    yield { text: 'p'.repeat(size) };
    return { text: 'j'.repeat(size) };
  },
});

export const scribe = new LlmAgent({
  name: 'scribe',
  description: 'writes for others',
  model,
  tools: [remoteTool('write')],
});

export const clerk = new LlmAgent({
  name: 'clerk',
  description: 'has things written',
  model,
  tools: [remoteTool('write'), remoteTool('write_later'), new AgentTool({ agent: remoteAgent('scribe') })],
  subAgents: [remoteAgent('scribe')],
});
