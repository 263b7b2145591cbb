import { FunctionTool, Gemini, LlmAgent } from '@agentmesh/agent';
import { remoteAgent, remoteTool } from '@agentmesh/mesh';

const { MODEL_URL = '' } = process.env;

const model = new Gemini({ model: 'gemini-test', apiKey: 'scripted', baseUrl: MODEL_URL });

/** A tool in its own process that a person must approve. */
export const pay = new FunctionTool({
  name: 'pay',
  description: 'pays a bill',
  requireConfirmation: true,
  execute: () => ({ status: 'paid' }),
});

/** The agent to which the desk transfers. */
export const clerk = new LlmAgent({
  name: 'clerk',
  description: 'pays bills',
  model,
  tools: [remoteTool(pay.name)],
});

export const desk = new LlmAgent({
  name: 'desk',
  description: 'the desk',
  model,
  subAgents: [remoteAgent(clerk.name)],
});
