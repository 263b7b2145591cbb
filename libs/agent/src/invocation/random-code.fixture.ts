import { type Event, MeshError, runConfigSchema } from '@agentmesh/protocol';
import type { FinishReason } from '@google/genai';
import { BaseAgent } from '../base/base-agent.ts';
import type { LlmResponse } from '../base/base-llm.ts';
import { BasePlugin } from '../base/base-plugin.ts';
import { BaseTool, type RunToolRequest } from '../base/base-tool.ts';
import { InvocationContext } from '../base/invocation-context.ts';
import { createEvent, getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { LlmAgent, type LlmAgentConfig } from '../flow/llm-agent.ts';
import { FirstWord } from '../flow/tool-work.ts';
import { InMemoryRunner } from '../runner/runner.ts';
import { InMemorySessionService } from '../sessions/in-memory/session-service.ts';
import { LoopAgent } from '../workflow/loop-agent.ts';
import { ParallelAgent } from '../workflow/parallel-agent.ts';
import { SequentialAgent } from '../workflow/sequential-agent.ts';
import { Dice, mostModelCalls, OddLlm } from './random-model.fixture.ts';

/** The record of a program. */
interface World {
  dice: Dice;
  modelCalls: number;
  /** True when code of the program may change events, requests or answers: then calls may have no result. */
  isOdd: boolean;
}

/** Changes or drops an event in a way in which code between an agent and the log may. */
type Pass = (event: Event) => Event | undefined;

const passes: readonly [Pass, ...Pass[]] = [
  (event) => event,
  () => undefined,
  (event) => {
    delete event.content;
    return event;
  },
  (event) => ({ ...event, author: 'somebody' }),
  (event) => ({ ...event, id: `${event.id}x` }),
  (event) => ({ ...event, branch: 'elsewhere' }),
  (event) => ({ ...event, content: { role: 'model', parts: [{ text: 'changed' }] } }),
  (event) => createEvent({ author: event.author ?? '', ...(event.content && { content: event.content }) }),
  (event) => ({ ...event, customMetadata: {} }),
];

async function* through(events: AsyncIterable<Event>, world: World): AsyncGenerator<Event, void, void> {
  const pass = world.dice.one(...passes);
  const isLate = world.dice.in(4);
  const late: Event[] = [];
  world.isOdd = true;
  for await (const event of events) {
    const passed = pass(event);
    if (!passed) continue;
    if (isLate) late.push(passed);
    else yield passed;
  }
  yield* late;
}

/** A tool that does what a tool may. */
class OddTool extends BaseTool {
  readonly #world: World;
  readonly #helper: BaseAgent | undefined;
  readonly #kind: number;

  constructor(name: string, world: World, helper: BaseAgent | undefined) {
    const kind = world.dice.below(11);
    super({ name, description: name, isLongRunning: kind > 8 });
    this.#world = world;
    this.#helper = helper;
    this.#kind = kind;
  }

  override _getDeclaration() {
    return { name: this.name };
  }

  override async runAsync({ toolContext }: RunToolRequest): Promise<unknown> {
    const { actions, state, invocationContext } = toolContext;
    if (this.#kind === 0) throw new Error('the tool failed');
    if (this.#kind === 1) state.set('x', 10n);
    if (this.#kind === 2) actions.transferToAgent = this.#world.dice.one('a', 'b', 'nobody');
    if (this.#kind === 3) actions.skipSummarization = true;
    if (this.#kind === 4) actions.escalate = true;
    if (this.#kind === 5 && !toolContext.toolConfirmation) toolContext.requestConfirmation({});
    if (this.#kind === 6 || this.#kind === 9) return progress(this.#kind === 9);
    if (this.#kind === 10) return undefined;
    if (this.#kind > 6 && this.#helper && invocationContext) {
      const events = await Array.fromAsync(this.#helper.runAsync(invocationContext));
      return { events: events.length };
    }
    return { done: true };
  }
}

function* progress(isSilent: boolean) {
  yield { at: 1 };
  return isSilent ? new FirstWord(undefined) : { at: 2 };
}

function llmAgent(name: string, world: World, subAgents: BaseAgent[], depth = 0): LlmAgent {
  const { dice } = world;
  const helper = depth === 0 && dice.in(2) ? llmAgent(`${name}_helper`, world, [], 1) : undefined;
  const tools = Array.from({ length: dice.below(3) }, (_, n) => new OddTool(`tool${n}`, world, helper));
  const config = { name, model: new OddLlm(world), tools, subAgents, ...oddCallbacks(world, helper) };
  const kind = dice.below(12);
  if (kind === 0) {
    return new (class extends LlmAgent {
      override runAsync(context: InvocationContext) {
        return through(super.runAsync(context), world);
      }
    })(config);
  }
  if (kind > 1) return new LlmAgent(config);
  const times = 1 + dice.below(2);
  return new (class extends LlmAgent {
    protected override async *runAsyncImpl(context: InvocationContext) {
      for (let n = 0; n < times; n += 1) yield* through(super.runAsyncImpl(context), world);
    }
  })(config);
}

function oddCallbacks(world: World, helper: BaseAgent | undefined): Partial<LlmAgentConfig> {
  const { dice } = world;
  if (!dice.in(3)) return {};
  world.isOdd = true;
  const response = (): LlmResponse => ({ content: { role: 'model', parts: [{ text: 'of a callback' }] } });
  return dice.one<Partial<LlmAgentConfig>>(
    { afterModelCallback: () => ({}) },
    { afterModelCallback: () => ({ ...response(), partial: true }) },
    { beforeModelCallback: () => ({ finishReason: 'STOP' as FinishReason }) },
    { onModelErrorCallback: () => ({}) },
    { afterAgentCallback: () => ({ parts: [{ text: 'after' }] }) },
    { beforeToolCallback: ({ context }) => void Object.assign(context.actions, { skipSummarization: true }) },
    {
      beforeModelCallback: ({ request }) => {
        request.toolsDict = {};
        return undefined;
      },
    },
    {
      beforeModelCallback: async ({ context: { invocationContext } }) => {
        if (helper && invocationContext) await Array.fromAsync(helper.runAsync(invocationContext));
        return undefined;
      },
    },
  );
}

function tree(world: World): BaseAgent {
  const { dice } = world;
  const children = ['a', 'b', 'c'].slice(0, 1 + dice.below(3)).map((name) => llmAgent(name, world, []));
  const kind = dice.below(6);
  if (kind === 0) return new SequentialAgent({ name: 'root', subAgents: children });
  if (kind === 1) return new ParallelAgent({ name: 'root', subAgents: children });
  if (kind === 2) return new LoopAgent({ name: 'root', subAgents: children, maxIterations: 2 });
  if (kind > 3) return llmAgent('root', world, children);
  const times = 1 + dice.below(3);
  return new (class extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext) {
      for (let n = 0; n < times; n += 1)
        for (const child of this.subAgents) yield* through(child.runAsync(context), world);
    }
  })({ name: 'root', subAgents: children });
}

class OddPlugin extends BasePlugin {
  readonly #pass: Pass;

  constructor(pass: Pass) {
    super('odd');
    this.#pass = pass;
  }

  override async onEventCallback({ event }: { event: Event }) {
    return this.#pass(event);
  }
}

async function runWithoutRunner(agent: BaseAgent): Promise<Event[]> {
  const sessionService = new InMemorySessionService();
  const session = await sessionService.createSession({ appName: 'app', userId: 'u' });
  const runConfig = runConfigSchema.parse({ maxLlmCalls: 0 });
  const context = new InvocationContext({ invocationId: 'e', session, sessionService, agent, runConfig });
  return await Array.fromAsync(agent.runAsync(context));
}

async function runIn(agent: BaseAgent, world: World): Promise<Event[]> {
  const { dice } = world;
  const pass = dice.in(3) ? dice.one(...passes) : undefined;
  if (pass) world.isOdd = true;
  const plugins = pass ? [new OddPlugin(pass)] : [];
  const runner = new InMemoryRunner({ agent, appName: 'app', plugins, onFailure: () => {} });
  const ref = { appName: 'app', userId: 'u' };
  const { id: sessionId } = await runner.sessionService.createSession(ref);
  const runConfig = { maxLlmCalls: 0, streamingMode: dice.one<'none' | 'sse'>('none', 'sse') };
  for (const text of ['go', 'and now?'].slice(0, 1 + dice.below(2))) {
    const newMessage = { role: 'user', parts: [{ text }] };
    await Array.fromAsync(runner.runAsync({ userId: 'u', sessionId, newMessage, runConfig }));
  }
  return (await runner.sessionService.getSession({ ...ref, sessionId }))?.events ?? [];
}

/** Returns the names of the calls that have neither a result nor somebody to wait for. */
function lostCalls(events: readonly Event[]): string[] {
  const answered = new Set(events.flatMap(getFunctionResponses).map(({ id }) => id));
  const waiting = new Set(events.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds));
  const asked = new Set(events.flatMap(({ actions }) => Object.keys(actions.requestedToolConfirmations)));
  return events.flatMap(getFunctionCalls).flatMap(({ id = '', name = '' }) => {
    return answered.has(id) || waiting.has(id) || asked.has(id) ? [] : [name];
  });
}

/** Runs the program of a seed. Returns the broken rules: it ends, and no call is lost. */
async function runProgram(seed: number): Promise<{ findings: string[]; modelCalls: number }> {
  const world: World = { dice: new Dice(seed), modelCalls: 0, isOdd: false };
  const agent = tree(world);
  const findings: string[] = [];
  try {
    const events = world.dice.in(4) ? await runWithoutRunner(agent) : await runIn(agent, world);
    const lost = world.isOdd ? [] : lostCalls(events);
    if (lost.length > 0) findings.push(`calls without a result: ${lost.join()}`);
  } catch (error) {
    // The framework may refuse what a program does; it says so.
    if (!(error instanceof MeshError)) findings.push(`it throws ${error}`);
  }
  if (world.modelCalls > mostModelCalls) findings.push('its models are asked for ever');
  return { findings: findings.map((each) => `program ${seed}: ${each}`), modelCalls: world.modelCalls };
}

/** Runs the programs of these seeds, one after the other. */
export async function runPrograms(seed: number, count: number) {
  const findings: string[] = [];
  let most = 0;
  let modelCalls = 0;
  for (let at = seed; at < seed + count; at += 1) {
    const outcome = await runProgram(at);
    findings.push(...outcome.findings);
    most = Math.max(most, outcome.modelCalls);
    modelCalls += outcome.modelCalls;
  }
  return { findings, most, modelCalls };
}
