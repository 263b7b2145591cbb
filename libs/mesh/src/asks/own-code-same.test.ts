import {
  AgentTool,
  BaseAgent,
  BaseLlm,
  type Event,
  FunctionTool,
  getFunctionCalls,
  InMemoryRunner,
  type InvocationContext,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  LoopAgent,
  RoutedAgent,
  type RunConfig,
  stringifyContent,
} from '@agentmesh/agent';
import type { Part } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { serveAgent } from '../serve/serve-agent.ts';

type Pass = (event: Event, index: number) => Event | undefined;

/** Makes an agent of user code that passes on the events that `pass` returns for an event of its child. */
function above(child: BaseAgent, pass: Pass): BaseAgent {
  return new (class extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext) {
      let index = 0;
      for await (const event of child.runAsync(context)) {
        index += 1;
        const passed = pass(event, index);
        if (passed) yield passed;
      }
    }
  })({ name: 'own', subAgents: [child] });
}

interface Program {
  child: () => BaseAgent;
  pass: Pass;
  runConfig?: Partial<RunConfig>;
  /** The user's answer to the first open call. */
  answer?: Record<string, unknown>;
  /** The last event of the log. */
  ends?: string;
  /** Text that no event of the log has. */
  never?: RegExp;
}

const message = (text: string) => ({ role: 'user', parts: [{ text }] });
const answerTo = (events: readonly Event[], response: Record<string, unknown>) => ({
  role: 'user',
  parts: [{ functionResponse: { id: events.flatMap(getFunctionCalls).at(-1)?.id, response } }],
});
const shown = (events: readonly Event[]) => events.filter(({ partial }) => !partial).map(brief);

async function inOneProcess({ child, pass, runConfig, answer }: Program) {
  const runner = new InMemoryRunner({
    agent: above(child(), pass),
    appName: 'app',
    onFailure: () => {},
  });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
  const run = (newMessage: object) =>
    Array.fromAsync(runner.runAsync({ userId: 'u', sessionId, newMessage, runConfig }));
  const told = await run(message('go'));
  if (answer) told.push(...(await run(answerTo(told, answer))));
  const session = await runner.sessionService.getSession({ appName: 'app', userId: 'u', sessionId });
  return { told: told.length, log: shown(session?.events ?? []) };
}

async function onTheMesh({ child, pass, runConfig, answer }: Program) {
  const world = memoryMesh();
  const elsewhere = child();
  await serveAgent(await world.connect('agent_child'), elsewhere);
  const own = above(remoteAgent(elsewhere.name), pass);
  await serveAgent(await world.connect('agent_own'), own, { app: 'app' });
  const { say, client, ref } = await world.chat('app');
  const { events } = await say('go', runConfig);
  if (answer) {
    const where = { app: 'app', user: 'u', session: ref.sessionId };
    const run = await startRun(client, { ...where, message: answerTo(events, answer), runConfig });
    events.push(...(await Array.fromAsync(run.events)));
  }
  const log = (await world.sessions.log.readEvents(ref)).map(({ event }) => event);
  return { told: events.length, log: shown(log) };
}

/** Streams each answer in two pieces. */
class Streaming extends BaseLlm {
  constructor() {
    super({ model: 'streaming' });
  }

  override async *generateContentAsync(
    _request: LlmRequest,
    stream?: boolean,
  ): AsyncGenerator<LlmResponse, void, void> {
    const content = (text: string) => ({ role: 'model', parts: [{ text }] });
    if (stream) for (const text of ['hel', 'lo']) yield { content: content(text), partial: true };
    yield { content: content('hello') };
  }
}

class Failing extends BaseLlm {
  constructor() {
    super({ model: 'failing' });
  }

  // biome-ignore lint/correctness/useYield: it fails
  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    throw new Error('overloaded');
  }
}

/** Answers the first request by several complete responses. */
class Several extends BaseLlm {
  readonly #parts: Part[][];

  constructor(...parts: Part[][]) {
    super({ model: 'several' });
    this.#parts = parts;
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const isAnswered = contents.at(-1)?.parts?.some(({ functionResponse }) => functionResponse);
    for (const parts of isAnswered ? [says('done')] : this.#parts)
      yield { content: { role: 'model', parts } };
  }
}

const all: Pass = (event) => event;
const words: Pass = (event) => (stringifyContent(event) ? event : undefined);
const loud: Pass = (event) =>
  event.partial || !stringifyContent(event)
    ? event
    : { ...event, content: { role: 'model', parts: [{ text: stringifyContent(event).toUpperCase() }] } };
const note = (name: string) =>
  new FunctionTool({ name, description: 'notes', execute: () => ({ noted: name }) });

const programs: Record<string, Program> = {
  'an agent that streams': {
    child: () => new LlmAgent({ name: 'child', model: new Streaming() }),
    pass: loud,
    runConfig: { streamingMode: 'sse' },
  },
  'a routed agent whose first choice fails': {
    child: () =>
      new RoutedAgent({
        name: 'child',
        agents: [
          new LlmAgent({ name: 'first', model: new Failing() }),
          new LlmAgent({ name: 'second', model: new ScriptedLlm(says('instead')) }),
        ],
      }),
    pass: loud,
  },
  ...Object.fromEntries(
    [
      [calls('one'), calls('two')],
      [calls('one'), says('wait')],
      [says('wait'), calls('one')],
    ].map((parts, index): [string, Program] => [
      `a model with several complete responses: ${index + 1}`,
      {
        child: () =>
          new LlmAgent({ name: 'child', model: new Several(...parts), tools: [note('one'), note('two')] }),
        pass: all,
        ends: 'child: done',
      },
    ]),
  ),
  'a tool that a callback removes from the request': {
    child: () =>
      new LlmAgent({
        name: 'child',
        model: new ScriptedLlm(calls('one'), says('done')),
        tools: [note('one'), note('two')],
        beforeModelCallback: ({ request }) => {
          delete request.toolsDict.one;
          return undefined;
        },
      }),
    pass: all,
    ends: 'child: done',
    never: /noted/,
  },
  'a model that fails': {
    child: () => new LlmAgent({ name: 'child', model: new Failing() }),
    pass: all,
  },
  'a model that fails, whose error is kept back': {
    child: () => new LlmAgent({ name: 'child', model: new Failing() }),
    pass: words,
  },
  'a loop of two rounds whose calls are kept back': {
    child: () =>
      new LoopAgent({
        name: 'child',
        maxIterations: 2,
        subAgents: [
          new LlmAgent({
            name: 'writer',
            model: new ScriptedLlm(calls('note'), says('one'), calls('note'), says('two')),
            tools: [note('note')],
          }),
        ],
      }),
    pass: words,
  },
  'an agent that asks another one as a tool': {
    child: () =>
      new LlmAgent({
        name: 'child',
        model: new ScriptedLlm(calls('helper', { request: 'help' }), says('helped')),
        tools: [
          new AgentTool({ agent: new LlmAgent({ name: 'helper', model: new ScriptedLlm(says('so')) }) }),
        ],
      }),
    pass: words,
  },
  'a call that waits for a confirmation': {
    child: () =>
      new LlmAgent({
        name: 'child',
        model: new ScriptedLlm(calls('pay'), says('paid')),
        tools: [
          new FunctionTool({
            name: 'pay',
            description: 'pays',
            requireConfirmation: true,
            execute: () => ({ paid: true }),
          }),
        ],
      }),
    pass: loud,
    answer: { confirmed: true },
  },
};

describe('user code above a remote agent does the same as in one process', () => {
  it.each(Object.keys(programs))('%s', async (name) => {
    const program = programs[name] ?? expect.fail();
    const here = await inOneProcess(program);
    const there = await onTheMesh(program);
    expect(there).toEqual(here);
    expect(here.log.length).toBeGreaterThan(0);
    if (program.ends) expect(here.log.at(-1)).toBe(program.ends);
    if (program.never) expect(here.log.join()).not.toMatch(program.never);
  });
});
