import { LlmAgent } from '@agentmesh/agent';

export const supportAgent = new LlmAgent({
  name: 'support_agent',
  model: 'gemini-2.5-flash',
  description: 'Helps customers whose request is urgent.',
  instruction: "You are the support agent. Take care of the customer's urgent request.",
});
