import { App, type Context, FunctionTool, Gemini, LlmAgent } from '@agentmesh/agent';
import { remoteTool } from '@agentmesh/mesh';
import { z } from 'zod';

const { DESK_MODEL_URL = '' } = process.env;

/** A tool that answers with its caller. */
export const whoami = new FunctionTool({
  ...{ name: 'whoami', description: 'says who is calling', parameters: z.object({}) },
  execute: (_args, context?: Context) => ({ caller: context?.caller ?? 'nobody' }),
});

const desk = new LlmAgent({
  name: 'desk',
  description: 'says who is calling',
  model: new Gemini({ model: 'gemini-test', apiKey: 'scripted', baseUrl: DESK_MODEL_URL }),
  tools: [remoteTool(whoami.name)],
});

export const deskApp = new App({ name: 'desk_app', rootAgent: desk });
