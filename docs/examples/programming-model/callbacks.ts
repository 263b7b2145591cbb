import {
  type BaseAgent,
  BasePlugin,
  type BaseTool,
  type Event,
  FunctionTool,
  LlmAgent,
  type LlmRequest,
} from '@agentmesh/agent';
import { chat, runnerOf } from './chat.ts';

const log = (text: string) => {
  console.log(`  ${text}`);
  return undefined; // Nothing returned: what was to be done is done.
};
const text = (words: string) => ({ role: 'model', parts: [{ text: words }] });

const clock = new FunctionTool({
  name: 'clock',
  description: 'The time.',
  execute: () => ({ time: '12:00' }),
});
const broken = new FunctionTool({
  name: 'broken',
  description: 'Does not work.',
  execute: () => {
    throw new Error('no spring');
  },
});

const agent = new LlmAgent({
  name: 'agent',
  model: 'gemini-2.5-flash',
  tools: [clock, broken],
  beforeAgentCallback: () => log('agent: before agent'),
  afterAgentCallback: () => text('(Is that all?)'), // said after the agent's own words
  // One function or several. The first one that returns a value decides.
  beforeModelCallback: [
    () => log('agent: before model'),
    ({ request }) =>
      JSON.stringify(request.contents.at(-1)).includes('secret')
        ? { content: text('I do not talk about that.') } // in place of the model
        : undefined,
  ],
  afterModelCallback: ({ response: { content } }) =>
    content?.parts?.[0]?.text === 'At noon.' ? { content: text('At noon, I think.') } : undefined,
  onModelErrorCallback: ({ error }) => ({
    content: text(`My model is ill: ${JSON.parse(error.message).error.message}`),
  }),
  beforeToolCallback: ({ tool }) => log(`agent: before ${tool.name}`),
  afterToolCallback: ({ response }) => ({ ...response, zone: 'UTC' }),
  onToolErrorCallback: ({ tool, error }) => ({ error: `${tool.name}: ${error.message}; try another` }),
});

/** Sees every agent of the runner, before its own callbacks. */
class Watcher extends BasePlugin {
  override async beforeAgentCallback({ agent }: { agent: BaseAgent }) {
    return log(`plugin: before agent ${agent.name}`);
  }
  override async beforeModelCallback({ llmRequest }: { llmRequest: LlmRequest }) {
    return log(`plugin: before model ${llmRequest.model}`);
  }
  override async beforeToolCallback({ tool }: { tool: BaseTool }) {
    return tool.name === 'clock' ? { time: 'whatever the plugin says' } : undefined; // The tool is not run.
  }
  override async onEventCallback({ event }: { event: Event }) {
    return event.errorCode ? log(`plugin: an error, ${event.errorCode}`) : undefined;
  }
}

const { say } = await chat(runnerOf(agent, { plugins: [new Watcher('watcher')] }));
await say('What time is it?');
await say('Tell me a secret.');
await say('Are you well?');

// The limit holds for the whole invocation, agents in other processes included.
const limited = await chat(
  runnerOf(new LlmAgent({ name: 'busy', model: 'gemini-2.5-flash', tools: [clock] })),
);
await limited.say('Look at the clock for ever.', { runConfig: { maxLlmCalls: 2 } });
