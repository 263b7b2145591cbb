import { setTimeout as delay } from 'node:timers/promises';
import { type Context, Gemini, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { remoteTool } from '@agentmesh/mesh';

const { MODEL_URL = '', PACE_MS = '100' } = process.env;

const model = new Gemini({ model: 'gemini-test', apiKey: 'scripted', baseUrl: MODEL_URL });

/** A tool in the agent's process that opens a ticket, which is approved over NATS. */
const approve = new LongRunningFunctionTool({
  name: 'approve',
  description: 'asks a manager',
  execute: (_input, context?: Context) => ({ status: 'pending', ticket: context?.functionCallId }),
});

/** A tool whose call ends soon without an answer. */
const hurry = new LongRunningFunctionTool({
  name: 'hurry',
  description: 'asks whoever is there',
  answerWithinMs: 500,
  execute: () => ({ status: 'pending' }),
});

/**
 * A tool in its own process that works in steps and continues after the last step of a dead worker. Its name
 * has characters that must be encoded in subjects and in the services protocol.
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
