import { App, FunctionTool, LlmAgent } from '@agentmesh/agent';
import { remoteAgent } from '@agentmesh/mesh';
import { z } from 'zod';

const triage = new FunctionTool({
  name: 'check_urgency',
  description:
    "Checks whether a customer's request is urgent, and brings urgent customers to the support agent.",
  parameters: z.object({ request: z.string().describe("The customer's words.") }),
  execute({ request }, context) {
    const urgent = /urgent|asap|immediately|locked/i.test(request);
    if (urgent && context) context.actions.transferToAgent = 'support_agent';
    return { status: 'success', urgent };
  },
});

export const customerAgent = new LlmAgent({
  name: 'customer_agent',
  model: 'gemini-2.5-flash',
  description: 'First contact for customers.',
  instruction: 'Check every request with check_urgency. If it is not urgent, answer it yourself.',
  tools: [triage],
  subAgents: [remoteAgent('support_agent')],
});

export const customerApp = new App({ name: 'customer_app', rootAgent: customerAgent });
