import { FunctionTool, LlmAgent, type ToolContext } from '@agentmesh/agent';
import { z } from 'zod';
import { chat, runnerOf } from './chat.ts';

const like = new FunctionTool({
  name: 'like',
  description: 'Notes what the user likes.',
  parameters: z.object({ what: z.string() }),
  execute: ({ what }: { what: string }, { state }: ToolContext) => {
    state.set('last', what); // this session
    state.set('user:likes', [...(state.get<string[]>('user:likes') ?? []), what]); // all sessions of the user
    state.set('app:notes', (state.get<number>('app:notes') ?? 0) + 1); // all users
    state.set('temp:fresh', true); // this invocation only; never stored
    return { noted: what };
  },
});

const recall = new FunctionTool({
  name: 'recall',
  description: 'Tells what is known.',
  execute: (_args, { state }: ToolContext) => state.toRecord(),
});

const file = new FunctionTool({
  name: 'file',
  description: 'Keeps a note as a file, and looks up what was said before.',
  parameters: z.object({ text: z.string() }),
  execute: async ({ text }: { text: string }, context: ToolContext) => {
    const version = await context.saveArtifact('note.txt', { text });
    const first = await context.loadArtifact('note.txt', 0);
    const { memories } = await context.searchMemory(text);
    return {
      version,
      first: first?.text,
      files: await context.listArtifacts(),
      remembered: memories.map(({ author, content }) => `${author}: ${content.parts?.[0]?.text}`),
    };
  },
});

const show = new FunctionTool({
  name: 'show',
  description: 'Shows the user a picture.',
  execute: (_args, { actions, functionCallId, functionCallEventId, invocationContext }: ToolContext) => {
    actions.skipSummarization = true; // The result is the answer: the model is not asked again.
    const call = invocationContext?.session.events.find(({ id }) => id === functionCallEventId);
    return { picture: '☼', sameCall: call?.content?.parts?.[0]?.functionCall?.id === functionCallId };
  },
});

const stop = new AbortController();
const wait = new FunctionTool({
  name: 'wait',
  description: 'Waits.',
  execute: (_args, { abortSignal }: ToolContext) => {
    const { promise, reject } = Promise.withResolvers<never>();
    abortSignal?.addEventListener('abort', () => {
      console.log('the tool stops its work');
      reject(abortSignal.reason);
    });
    stop.abort(); // Somebody does not want to wait.
    return promise;
  },
});

const agent = new LlmAgent({
  name: 'clerk',
  model: 'gemini-2.5-flash',
  instruction: 'Note what the user likes.',
  tools: [like, recall, file, show, wait],
});
const runner = runnerOf(agent);

const first = await chat(runner);
await first.say('I like tea. What do you know of me?');
await first.say('And now?');
const session = await first.session();
if (session) await runner.memoryService?.addSessionToMemory(session);

const second = await chat(runner);
await second.say('File "tea".');
await second.say('File "milk".');
await second.say('Show me the sun.');

const bob = await chat(runner, {}, 'bob');
await bob.say('What do you know?');
await bob.say('Wait!', { abortSignal: stop.signal });
console.log('the run has ended');
