import { setTimeout as delay } from 'node:timers/promises';
import {
  AgentTool,
  type Context,
  FunctionTool,
  Gemini,
  LlmAgent,
  LongRunningFunctionTool,
} from '@agentmesh/agent';
import { remoteAgent, remoteTool } from '@agentmesh/mesh';

const { MODEL_URL = '', PACE_MS = '100' } = process.env;
const model = new Gemini({ model: 'gemini-test', apiKey: 'scripted', baseUrl: MODEL_URL });

/** A tool in its own process that leaves data of the user in all possible places. */
export const desk = new FunctionTool({
  name: 'desk',
  description: 'files things',
  usesMemory: true,
  usesArtifacts: true,
  credentialKeys: ['maps'],
  async execute(_input, context?: Context) {
    if (!context) return {};
    const { userId } = context;
    context.state.update({ 'user:name': userId, 'app:last': 'desk', note: userId });
    for (const name of ['note.txt', 'user:profile.txt'])
      await context.saveArtifact(name, { text: `of ${userId}` });
    await context.saveCredential({
      credentialKey: 'maps',
      authScheme: { type: 'apiKey' },
      exchangedAuthCredential: { authType: 'apiKey', apiKey: 'SECRET' },
    });
    await context.addMemory([{ content: { parts: [{ text: `${userId} likes tea` }] } }]);
    return { filed: userId };
  },
});

/** A tool in its own process that works in steps. */
export const slow = new LongRunningFunctionTool({
  name: 'slow',
  description: 'takes long',
  async *execute(_input, context?: Context) {
    for (let step = 1; context?.abortSignal?.aborted !== true; step += 1) {
      await delay(Number(PACE_MS), undefined, {
        ...(context?.abortSignal && { signal: context.abortSignal }),
      });
      yield { step, user: context?.userId };
    }
    return { status: 'completed', user: context?.userId };
  },
});

const wipe = new FunctionTool({
  name: 'wipe',
  description: 'wipes the disk, if a person says so',
  requireConfirmation: true,
  execute: () => ({ wiped: true }),
});

export const assistant = new LlmAgent({
  name: 'assistant',
  description: 'helps',
  model,
  tools: [remoteTool('desk', { writes: ['user', 'app'] })],
});

export const keeper = new LlmAgent({
  name: 'keeper',
  description: 'keeps things',
  model,
  tools: [
    remoteTool('desk', { writes: ['user', 'app'] }),
    remoteTool('slow'),
    wipe,
    new AgentTool({ agent: remoteAgent('assistant') }),
  ],
});
