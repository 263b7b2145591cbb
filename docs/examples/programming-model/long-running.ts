import { FunctionTool, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { z } from 'zod';
import { chat, runnerOf } from './chat.ts';

// The ticket form returns a first response. The call stays pending until somebody answers it.
const approve = new LongRunningFunctionTool({
  name: 'approve',
  description: 'Asks the manager for approval.',
  parameters: z.object({ amount: z.number() }),
  execute: ({ amount }) => ({ status: 'pending', ticket: `T-${amount}` }),
});
const pay = new FunctionTool({
  name: 'pay',
  description: 'Pays the amount.',
  parameters: z.object({ amount: z.number() }),
  execute: ({ amount }) => ({ paid: amount }),
});
const cashier = new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash', tools: [approve, pay] });

const { say, answer } = await chat(runnerOf(cashier));
const events = await say('Please pay me 200.');
const id = events.flatMap(({ longRunningToolIds }) => longRunningToolIds ?? [])[0] ?? '';
// Days later, any program with the session sends progress, and then the answer.
await answer({ id, name: 'approve', response: { status: 'the manager is reading it' }, willContinue: true });
await answer({ id, name: 'approve', response: { status: 'approved' } });

// The generator form works at once. Each value that it yields is committed as progress.
const backup = new LongRunningFunctionTool({
  name: 'backup',
  description: 'Copies all files.',
  async *execute() {
    for (const percent of [50, 90]) yield { percent };
    return { files: 3 };
  },
});
const admin = new LlmAgent({ name: 'admin', model: 'gemini-2.5-flash', tools: [backup] });
await (await chat(runnerOf(admin))).say('Make a backup.');
