import { FunctionTool, LlmAgent, type LlmRequest } from '@agentmesh/agent';
import { z } from 'zod';
import { chat, runnerOf } from './chat.ts';

const print = ({ request: { contents, config } }: { request: LlmRequest }) => {
  console.log(`  asked ${contents.length} contents, temperature ${config.temperature}`);
  console.log(`  told ${JSON.stringify(config.systemInstruction)}`);
  return undefined;
};

// {key} comes from the state, {key?} may be missing there, {artifact.name} is a file, {{key}} the text {key}. Other braces stay.
const greeter = new LlmAgent({
  name: 'greeter',
  model: 'gemini-2.5-flash',
  globalInstruction: 'Be brief.', // of the root agent: for all agents below it too
  instruction: 'Greet {user:name} {title?}in the style of: {artifact.style.txt}. Not {"as": "json"}.',
  generateContentConfig: { temperature: 0.2 },
  includeContents: 'none', // The model sees the current turn and nothing before it.
  outputKey: 'greeting', // The answer goes into the state.
  beforeModelCallback: print,
});
const runner = runnerOf(greeter);
const { say, session } = await chat(runner, { 'user:name': 'Ann' });
const { id: sessionId = '' } = (await session()) ?? {};
const style = { filename: 'style.txt', artifact: { text: 'a pirate' } };
await runner.artifactService?.saveArtifact({ appName: 'examples', userId: 'ann', sessionId, ...style });
await say('Hello!');
await say('Hello again!');

// A provider makes the instruction again at every step. Its result is used unchanged.
const judge = new LlmAgent({
  name: 'judge',
  model: 'gemini-2.5-flash',
  instruction: ({ state }) => `Judge the words "${state.get('greeting')}".`,
  outputSchema: z.object({ verdict: z.enum(['good', 'bad']), points: z.number() }),
  outputKey: 'verdict', // with a schema: the value itself
  beforeModelCallback: ({ request: { config } }) => {
    console.log(`  told ${config.systemInstruction}; must answer in ${config.responseMimeType}`);
    return undefined;
  },
});
const court = await chat(runnerOf(judge), { greeting: 'Ahoy!' });
await court.say('Well?');
await court.say('And in your own words?'); // An answer that does not fit is an error, and not kept.

// With tools, the framework adds a tool with the form of the schema. The model's call of it is the answer.
const sum = new FunctionTool({
  name: 'sum',
  description: 'Adds.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
const accountant = new LlmAgent({
  name: 'accountant',
  model: 'gemini-2.5-flash',
  tools: [sum],
  outputSchema: z.object({ total: z.number() }),
  outputKey: 'total',
  beforeModelCallback: ({ request: { toolsDict } }) => {
    console.log(`  may call ${Object.keys(toolsDict).join(', ')}`);
    return undefined;
  },
});
await (await chat(runnerOf(accountant))).say('2 and 3?');
