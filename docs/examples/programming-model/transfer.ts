import { FunctionTool, LlmAgent, type ToolContext } from '@agentmesh/agent';
import { z } from 'zod';
import { chat, runnerOf } from './chat.ts';

const model = 'gemini-2.5-flash';
const targets: LlmAgent['callbacks']['beforeModelCallback'][number] = ({
  request: { toolsDict },
  context,
}) => {
  const { agentName } = toolsDict.transfer_to_agent?.getDeclaration()?.parameters?.properties ?? {};
  console.log(`  ${context.agentName} may transfer to: ${agentName?.enum?.join(', ') ?? 'nobody'}`);
  return undefined;
};

const billing = new LlmAgent({ name: 'billing', model, description: 'Bills.', beforeModelCallback: targets });
// This agent may not transfer back, so it does not keep the conversation.
const refunds = new LlmAgent({
  name: 'refunds',
  model,
  description: 'Pays back.',
  disallowTransferToParent: true,
  disallowTransferToPeers: true,
  beforeModelCallback: targets,
});

// The instruction needs a state key that nobody sets, so this agent fails.
const archive = new LlmAgent({
  name: 'archive',
  model,
  description: 'Old bills.',
  instruction: 'Look in {shelf}.',
});

const route = new FunctionTool({
  name: 'route',
  description: 'Finds who is responsible.',
  parameters: z.object({ to: z.string() }),
  execute: ({ to }: { to: string }, { actions }: ToolContext) => {
    actions.transferToAgent = to;
    return { to };
  },
});

const desk = new LlmAgent({
  name: 'desk',
  model,
  description: 'The first contact.',
  tools: [route],
  subAgents: [billing, refunds, archive],
  beforeModelCallback: targets,
});
const runner = runnerOf(desk);

console.log('— by the model; the agent keeps the conversation, and gives it to another');
const first = await chat(runner);
await first.say('My bill is wrong.');
await first.say('Are you sure?');
await first.say('I want my money back.');
await first.say('Anybody there?');

console.log('— by a tool');
await (await chat(runner)).say('Whoever does bills!');

console.log('— to nobody');
await (await chat(runner)).say('The king!');

console.log('— to an agent that fails');
await (await chat(runner)).say('The archive!');
