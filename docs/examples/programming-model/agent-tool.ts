import {
  AgentTool,
  FunctionTool,
  LlmAgent,
  LongRunningFunctionTool,
  type ToolContext,
} from '@agentmesh/agent';
import { z } from 'zod';
import { chat, runnerOf } from './chat.ts';

const model = 'gemini-2.5-flash';

// This agent reads the caller's state, has schemas for its input and output, and writes its answer into the
// caller's state.
const summarizer = new LlmAgent({
  name: 'summarizer',
  model,
  description: 'Summarizes a text.',
  instruction: 'Summarize for {reader}.',
  inputSchema: z.object({ text: z.string(), words: z.number().default(10) }),
  outputSchema: z.object({ summary: z.string() }),
  outputKey: 'last_summary',
  beforeModelCallback: ({ request: { contents, config } }) => {
    // Each call has its own session and does not see other calls.
    const asked = contents.map(({ parts }) => parts?.[0]?.text);
    console.log(`  summarizer is told ${JSON.stringify(config.systemInstruction)} and asked ${asked}`);
    return undefined;
  },
});

const save = new FunctionTool({
  name: 'save',
  description: 'Saves a picture.',
  execute: async (_args, context: ToolContext) => ({
    version: await context.saveArtifact('sun.svg', { text: '☼' }),
  }),
});
const painter = new LlmAgent({ name: 'painter', model, description: 'Paints.', tools: [save] });

const broken = new LlmAgent({ name: 'broken', model, description: 'Always fails.' });

const approve = new LongRunningFunctionTool({
  name: 'approve',
  description: 'Asks a person.',
  execute: () => ({ ticket: 'T-1' }),
});
const buyer = new LlmAgent({ name: 'buyer', model, description: 'Buys.', tools: [approve] });

const translator = new LlmAgent({ name: 'translator', model, description: 'Translates.' });

const boss = new LlmAgent({
  name: 'boss',
  model,
  tools: [
    new AgentTool({ agent: summarizer }),
    new AgentTool({ agent: painter }),
    new AgentTool({ agent: broken }),
    new AgentTool({ agent: buyer }),
    new AgentTool({ agent: translator, skipSummarization: true }), // Its answer is the answer.
  ],
});

const runner = runnerOf(boss);
const { say, session } = await chat(runner, { reader: 'children' });
await say('Summarize "Long ago", then "Far away", then nothing.');
await say('Paint the sun.');
await say('Try the broken one.');
await say('Buy a boat.'); // A question within: the caller is told that there is no answer yet, and why.
await say('Translate "sun".', { runConfig: { streamingMode: 'sse' } }); // What it says comes in pieces.

const { id: sessionId = '', state = {}, events = [] } = (await session()) ?? {};
const place = { appName: 'examples', userId: 'ann', sessionId };
console.log(`the caller's state: ${JSON.stringify(state)}`);
console.log(`the caller's files: ${await runner.artifactService?.listArtifactKeys(place)}`);
console.log(`who wrote in the caller's session: ${[...new Set(events.map(({ author }) => author))]}`);
