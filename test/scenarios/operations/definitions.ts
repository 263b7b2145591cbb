import { setTimeout as delay } from 'node:timers/promises';
import { type Context, Gemini, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { remoteTool } from '@agentmesh/mesh';

const { MODEL_URL = '', PACE_MS = '100' } = process.env;

const model = new Gemini({ model: 'gemini-test', apiKey: 'scripted', baseUrl: MODEL_URL });

/** Opens a ticket in the agent's process; whoever approves it says so over NATS. */
const approve = new LongRunningFunctionTool({
  name: 'approve',
  description: 'asks a manager',
  execute: (_input, context?: Context) => ({ status: 'pending', ticket: context?.functionCallId }),
});

/** Is of no use when nobody answers at once. */
const hurry = new LongRunningFunctionTool({
  name: 'hurry',
  description: 'asks whoever is there',
  answerWithinMs: 500,
  execute: () => ({ status: 'pending' }),
});

/**
 * Works in steps, in a process of its own, and goes on where a worker before it has died. Its name has signs that neither a subject nor the
 * services protocol takes as they are.
 */
export const copy = new LongRunningFunctionTool({
  name: 'files.copy:all',
  description: 'copies ten files',
  async *execute(_input, context?: Context) {
    const before = Number(context?.lastProgress?.copied ?? 0);
    for (let copied = before + 1; copied <= 10; copied += 1) {
      await delay(Number(PACE_MS), undefined, {
        ...(context?.abortSignal && { signal: context.abortSignal }),
      });
      yield { copied, pid: process.pid, attempt: context?.attempt };
    }
    return { status: 'completed', pid: process.pid };
  },
});

export const clerk = new LlmAgent({
  name: 'clerk',
  description: 'has things approved and copied',
  model,
  tools: [approve, hurry, remoteTool(copy.name)],
});
