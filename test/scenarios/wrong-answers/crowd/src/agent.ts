import { FunctionTool, LlmAgent, ParallelAgent } from '@agentmesh/agent';

const pay = new FunctionTool({
  name: 'pay',
  description: 'pays',
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});

/** Ends only when its run is stopped. */
const wait = new FunctionTool({
  name: 'wait',
  description: 'waits',
  execute: (_args, context) =>
    new Promise((resolve) => context?.abortSignal?.addEventListener('abort', () => resolve({ over: true }))),
});

/** One asks a person while another is still at work; its app is not resumable. */
export const crowd = new ParallelAgent({
  name: 'crowd',
  subAgents: [
    new LlmAgent({ name: 'payer', model: 'gemini-test', tools: [pay] }),
    new LlmAgent({ name: 'waiter', model: 'gemini-test', tools: [wait] }),
  ],
});
