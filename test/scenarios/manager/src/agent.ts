import { FunctionTool, Gemini, LlmAgent } from '@agentmesh/agent';

const { MODEL_URL = '' } = process.env;

const pay = new FunctionTool({
  name: 'pay',
  description: 'pays',
  requireConfirmation: true,
  confirmableBy: { roles: ['manager'], notByAsker: true },
  execute: (_args, context) => {
    context?.state.set('balance', 1);
    return { paid: 99_999 };
  },
});

export const teller = new LlmAgent({
  name: 'teller',
  description: 'pays what a manager confirms',
  model: new Gemini({ model: 'gemini-test', apiKey: 'scripted', baseUrl: MODEL_URL }),
  tools: [pay],
});
