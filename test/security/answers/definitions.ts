import { App, type Context, FunctionTool, Gemini, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { remoteTool } from '@agentmesh/mesh';
import { z } from 'zod';

const { MODEL_URL = '' } = process.env;

/** Makes a call that a person must confirm. */
const confirmed = (name: string, more: object) =>
  new FunctionTool({
    ...{ name, description: `${name}s`, requireConfirmation: true, ...more },
    execute: () => ({ done: name }),
  });

/** A job in a process of its own, which outlives the run that began it. */
export const scan = new LongRunningFunctionTool({
  ...{ name: 'scan', description: 'scans for long', parameters: z.object({}) },
  async *execute(_args, context?: Context) {
    yield { status: 'began' };
    await new Promise((resolve) => setTimeout(resolve, context ? 3_000 : 0));
    return { done: 'scan' };
  },
});

const cashier = new LlmAgent({
  name: 'cashier',
  description: 'pays what a manager confirms, and books what anybody confirms',
  model: new Gemini({ model: 'gemini-test', apiKey: 'scripted', baseUrl: MODEL_URL }),
  tools: [
    confirmed('pay', { confirmableBy: { roles: ['manager'], notByAsker: true } }),
    confirmed('book', {}),
    confirmed('hold', { answerWithinMs: 1_000 }),
    remoteTool(scan.name),
  ],
});

export const cashApp = new App({ name: 'cash_app', rootAgent: cashier });
