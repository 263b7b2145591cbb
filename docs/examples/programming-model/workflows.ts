import {
  BaseAgent,
  createEvent,
  type Event,
  EXIT_LOOP,
  FunctionTool,
  type InvocationContext,
  LlmAgent,
  LoopAgent,
  ParallelAgent,
  SequentialAgent,
  type ToolContext,
} from '@agentmesh/agent';
import { chat, runnerOf } from './chat.ts';

const writer = (name: string, instruction: string, more = {}) =>
  new LlmAgent({ name, model: 'gemini-2.5-flash', instruction, outputKey: name, ...more });

// Each child works on its own branch: they share the state, but do not see each other's events.
const ideas = new ParallelAgent({
  name: 'ideas',
  subAgents: [writer('hero', 'Invent a hero.'), writer('place', 'Invent a place.')],
});

// The loop ends when the critic calls exit_loop, which escalates, and after three rounds at most.
const polish = new LoopAgent({
  name: 'polish',
  maxIterations: 3,
  subAgents: [
    writer('story', 'Write a sentence about {hero} in {place}.'),
    writer('critic', 'Call exit_loop when "{story}" is good.', { tools: [EXIT_LOOP] }),
  ],
});

/** A custom agent. It may run its children in any way, and yield events of its own. */
class Publisher extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { story } = context.session.state;
    const children = String(story).length > 20 ? this.subAgents.slice(1) : this.subAgents;
    for (const child of children) yield* child.runAsync(context);
    yield createEvent({
      invocationId: context.invocationId,
      author: this.name,
      content: { role: 'model', parts: [{ text: `Published: ${story}` }] },
    });
  }
}

const publisher = new Publisher({
  name: 'publisher',
  subAgents: [writer('stretcher', 'Make it longer.'), writer('title', 'Find a title.')],
});

const { say } = await chat(
  runnerOf(new SequentialAgent({ name: 'studio', subAgents: [ideas, polish, publisher] })),
);
const events = await say('A story, please.');
const branches = events.filter(({ branch }) => branch).map(({ author, branch }) => `${author} on ${branch}`);
console.log(`at the same time: ${branches.toSorted().join(', ')}`);

// A tool or any agent may also end the loop by setting the action.
const enough = new FunctionTool({
  name: 'enough',
  description: 'Ends it.',
  execute: (_args, { actions }: ToolContext) => {
    actions.escalate = true;
    return 'it ends';
  },
});
const loop = new LoopAgent({ name: 'loop', subAgents: [writer('counter', 'Count.', { tools: [enough] })] });
await (await chat(runnerOf(loop))).say('Count to two.');
