import { AgentTool, App, LlmAgent } from '@agentmesh/agent';
import { remoteAgent } from '@agentmesh/mesh';

export const assistantAgent = new LlmAgent({
  name: 'assistant_agent',
  model: 'gemini-2.5-flash',
  description: 'A helpful assistant.',
  instruction:
    'When the user gives you a text, pass it to summary_agent word by word and present its summary.',
  tools: [new AgentTool({ agent: remoteAgent('summary_agent') })],
});

export const assistantApp = new App({ name: 'assistant_app', rootAgent: assistantAgent });
