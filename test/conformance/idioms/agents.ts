import {
  Agent,
  BaseAgent as Base,
  type BaseAgent,
  type BaseAgentConfig,
  createEvent,
  type Event,
  type InstructionProvider,
  type InvocationContext,
  isFinalResponse,
  isLlmAgent,
  LlmAgent,
  type LlmAgentConfig,
  LoopAgent,
  type LoopAgentConfig,
  ParallelAgent,
  type ReadonlyContext,
  RoutedAgent,
  SequentialAgent,
  State,
  stringifyContent,
} from '@google/adk';
import { z } from 'zod';

const instruction: InstructionProvider = async (context: ReadonlyContext) =>
  `Help the user ${context.state.get<string>('user:name', 'friend') ?? ''} in session ${context.sessionId}.`;

const answer = z.object({ city: z.string(), days: z.number().int().optional() });

export const weather = new LlmAgent({
  name: 'weather',
  model: 'gemini-2.5-flash',
  description: 'Tells the weather.',
  instruction,
  inputSchema: z.object({ question: z.string() }),
  outputSchema: answer,
  outputKey: `${State.TEMP_PREFIX}answer`,
  includeContents: 'none',
  disallowTransferToParent: true,
  disallowTransferToPeers: true,
  generateContentConfig: { temperature: 0.2, maxOutputTokens: 256 },
});

const shared: Partial<LlmAgentConfig> = { model: 'gemini-2.5-flash' };
export const root: BaseAgent = new Agent({ ...shared, name: 'root', subAgents: [weather] });

/** The options of a custom agent, with one more option. */
interface GuardConfig extends BaseAgentConfig {
  threshold: number;
}

export class Guard extends Base<GuardConfig> {
  readonly threshold: number;

  constructor(config: GuardConfig) {
    super(config);
    this.threshold = config.threshold;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const tries = Number(context.session.state.tries ?? 0);
    yield createEvent({
      author: this.name,
      invocationId: context.invocationId,
      ...(context.branch !== undefined && { branch: context.branch }),
      content: { role: 'model', parts: [{ text: `try ${tries}` }] },
      actions: { stateDelta: { tries: tries + 1 }, escalate: tries >= this.threshold },
    });
    for (const child of this.subAgents) {
      for await (const event of child.runAsync(context)) {
        if (isFinalResponse(event)) console.log(event.author, stringifyContent(event));
        yield event;
      }
    }
  }

  protected override async *runLiveImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield* this.runAsyncImpl(context);
  }
}

export class Quiet extends Base {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    if (context.userContent?.parts?.[0]?.text === 'stop') return;
    yield createEvent({ author: this.name, invocationId: context.invocationId });
  }

  protected override async *runLiveImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield* this.runAsyncImpl(context);
  }
}

/** A subclass of an LLM agent. */
export class Careful extends LlmAgent {
  constructor(config: LlmAgentConfig) {
    super({ ...config, instruction: `${String(config.instruction)} Be careful.` });
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield* super.runAsyncImpl(context);
  }
}

const loopConfig: LoopAgentConfig = {
  name: 'loop',
  maxIterations: 3,
  subAgents: [new Guard({ name: 'guard', threshold: 2 })],
};
export const pipeline = new SequentialAgent({
  name: 'pipeline',
  subAgents: [
    new ParallelAgent({ name: 'both', subAgents: [new Quiet({ name: 'one' }), new Quiet({ name: 'two' })] }),
    new LoopAgent(loopConfig),
  ],
});

export const routed = new RoutedAgent({
  name: 'routed',
  agents: { fast: new Careful({ name: 'fast' }), slow: new Careful({ name: 'slow' }) },
  router: async (agents, context, failure) =>
    failure?.failedKeys.has('fast') || context.session.state.slow ? 'slow' : Object.keys(agents)[0],
});

// Reading, changing and copying agents.
weather.model = 'gemini-2.5-pro';
weather.instruction = 'Be brief.';
const name: string = weather.canonicalModel.model;
const copy: LlmAgent = weather.clone({ name: 'weather_copy', instruction: 'Be long.' });
const looped: LoopAgent = new LoopAgent({ ...loopConfig, subAgents: [copy] }).clone({ maxIterations: 5 });
console.log(name, looped.maxIterations, copy.parentAgent?.name, root.rootAgent.name);
const found: BaseAgent | undefined = root.findAgent('weather') ?? root.findSubAgent('weather');
if (isLlmAgent(found))
  console.log(found.tools.length, found.beforeAgentCallback.length, found.beforeModelCallback);
