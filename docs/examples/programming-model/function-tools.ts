import { setTimeout as pause } from 'node:timers/promises';
import { FunctionTool, LlmAgent, type ToolContext } from '@agentmesh/agent';
import { Type } from '@google/genai';
import { z } from 'zod';
import { chat, runnerOf } from './chat.ts';

// With a zod schema, arguments are checked and defaults are filled in before the function gets them.
const book = new FunctionTool({
  name: 'book',
  description: 'Books a table.',
  parameters: z.object({
    people: z.number().min(1).describe('How many will come.'),
    meal: z.enum(['lunch', 'dinner']).default('dinner'),
    name: z.string().optional(),
  }),
  execute: async ({ people, meal, name = 'nobody' }) => {
    await pause(20); // The last to be ready is the first in the results all the same.
    return { booked: `${meal} for ${people}`, by: name };
  },
});

// With a schema of @google/genai, only the presence of required keys is checked; the function checks the
// rest.
const tip = new FunctionTool({
  name: 'tip',
  description: 'Says what to leave on the table.',
  parameters: { type: Type.OBJECT, properties: { bill: { type: Type.NUMBER } }, required: ['bill'] },
  execute: ({ bill }: { bill: number }) => bill / 10,
});

const menu = new FunctionTool({ name: 'menu', description: 'The dishes.', execute: () => ['soup', 'pie'] });

const taxi = new FunctionTool({
  name: 'taxi',
  description: 'Calls a taxi.',
  execute: () => {
    throw new Error('nobody picks up');
  },
});

const cook = new FunctionTool({
  name: 'cook',
  description: 'Asks the cook.',
  timeoutMs: 10,
  // The signal is aborted at the time limit.
  execute: (_args, { abortSignal }: ToolContext) => pause(60_000, 'done', { signal: abortSignal }),
});

const count = new FunctionTool({ name: 'count', description: 'Counts the guests.', execute: () => 10n });

const host = new LlmAgent({
  name: 'host',
  model: 'gemini-2.5-flash',
  instruction: 'You are the host of a restaurant. Use your tools, several at once where you can.',
  tools: [book, tip, menu, taxi, cook, count],
});

console.log('book takes', JSON.stringify(book.getDeclaration()?.parameters));
const { say } = await chat(runnerOf(host));
await say('Try everything.');
