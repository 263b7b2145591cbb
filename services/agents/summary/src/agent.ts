import { LlmAgent } from '@agentmesh/agent';

export const summaryAgent = new LlmAgent({
  name: 'summary_agent',
  model: 'gemini-2.5-flash',
  description: 'Summarises a text in a sentence.',
  instruction: 'Summarise the text you are given in one sentence.',
});
