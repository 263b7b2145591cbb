import { App, LlmAgent } from '@agentmesh/agent';
import { remoteTool } from '@agentmesh/mesh';

export const reimbursementAgent = new LlmAgent({
  name: 'reimbursement_agent',
  model: 'gemini-2.5-flash',
  description: 'Pays employees back what they have spent for work.',
  instruction: `Pay employees back what they have spent.
Below 100, call reimburse at once. From 100 on, call ask_for_approval first, and tell the employee that the manager has to decide.
Call reimburse when the manager's answer has the status approved, with the amount and the purpose that were approved. With any other answer pay nothing, and tell the employee.`,
  tools: [remoteTool('ask_for_approval'), remoteTool('reimburse')],
});

export const reimbursementApp = new App({ name: 'reimbursement_app', rootAgent: reimbursementAgent });
