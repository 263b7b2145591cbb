import { FunctionTool, LlmAgent, ParallelAgent } from '@agentmesh/agent';

const pay = new FunctionTool({
  name: 'pay',
  description: 'pays',
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});

/** A tool that ends only when its run is stopped. */
const wait = new FunctionTool({
  name: 'wait',
  description: 'waits',
  execute: (_args, context) =>
    new Promise((resolve) => context?.abortSignal?.addEventListener('abort', () => resolve({ over: true }))),
});

/** Two parallel agents: one asks a person while the other still works. The app is not resumable. */
export const crowd = new ParallelAgent({
  name: 'crowd',
  subAgents: [
    new LlmAgent({ name: 'payer', model: 'gemini-test', tools: [pay] }),
    new LlmAgent({ name: 'waiter', model: 'gemini-test', tools: [wait] }),
  ],
});
