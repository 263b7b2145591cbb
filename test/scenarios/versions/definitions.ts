import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Context, FunctionTool, Gemini, LlmAgent } from '@agentmesh/agent';

const { MODEL_URL = '', EFFECTS_FILE = '', MESH_VERSION = '' } = process.env;
/** Time between the effect of a tool and its result, in ms: the test kills the process in it. */
const betweenMs = 600;

const model = new Gemini({ model: 'gemini-test', apiKey: 'scripted', baseUrl: MODEL_URL });

const toolOf = (name: string, requireConfirmation = false) =>
  new FunctionTool({
    name,
    description: `does ${name}`,
    requireConfirmation,
    async execute(_args: unknown, context?: Context) {
      appendFileSync(EFFECTS_FILE, `${name} ${context?.functionCallId} ${MESH_VERSION}\n`);
      await delay(betweenMs);
      return { by: MESH_VERSION };
    },
  });

/** The agent of two neighbouring releases: the new one has another instruction and one more tool. */
export const oldDesk = new LlmAgent({
  name: 'desk',
  description: 'The desk.',
  model,
  instruction: 'You are the old desk.',
  tools: [toolOf('note'), toolOf('pay', true)],
});
export const newDesk = new LlmAgent({
  name: 'desk',
  description: 'The new desk.',
  model,
  instruction: 'You are the new desk.',
  tools: [toolOf('note'), toolOf('pay', true), toolOf('look_up')],
});
