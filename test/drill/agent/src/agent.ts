import { App, FunctionTool, LlmAgent } from '@agentmesh/agent';
import { z } from 'zod';

const crash = new FunctionTool({
  name: 'crash',
  description: 'Kills the process of the agent, as a defect in native code or too little memory does.',
  parameters: z.object({}),
  execute: () => {
    process.kill(process.pid, 'SIGKILL');
    return {};
  },
});

const rootAgent = new LlmAgent({
  name: 'drill_agent',
  model: 'gemini-2.5-flash',
  description: 'Answers slowly or dies, when it is told to.',
  instruction: 'Do as you are told.',
  tools: [crash],
});

/** The app of the drill: its agent dies at a message, and its model is slow at another one. */
export const drillApp = new App({ name: 'drill_app', rootAgent });
