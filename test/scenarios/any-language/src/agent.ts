import { App, LlmAgent } from '@agentmesh/agent';
import { remoteTool } from '@agentmesh/mesh';

/** An agent whose tool is a program in Python. */
const exchangeAgent = new LlmAgent({
  name: 'exchange_agent',
  model: 'gemini-2.5-flash',
  description: 'Tells exchange rates.',
  instruction: 'Look rates up with get_rate.',
  tools: [remoteTool('get_rate')],
});

export const exchangeApp = new App({ name: 'exchange_app', rootAgent: exchangeAgent });
