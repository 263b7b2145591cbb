import { type Event, runConfigSchema } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { BaseAgent } from '../base/base-agent.ts';
import { BasePlugin } from '../base/base-plugin.ts';
import { BaseTool } from '../base/base-tool.ts';
import { InvocationContext } from '../base/invocation-context.ts';
import { createEvent } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { newBasis } from '../flow/next-step.ts';
import { FirstWord } from '../flow/tool-work.ts';
import { brief, callsTo, chat, OwnLlm, says } from '../harness.fixture.ts';
import { InMemorySessionService } from '../sessions/in-memory/session-service.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { ParallelAgent } from '../workflow/parallel-agent.ts';
import { SequentialAgent } from '../workflow/sequential-agent.ts';

/** No limit of model calls: nothing but the rule under test ends a run. */
const unlimited = { maxLlmCalls: 0 };
const note = new FunctionTool({ name: 'note', description: 'notes', execute: () => 'noted' });

/** Makes an agent that calls a tool and then answers. Its model knows only the request. */
function helperOf(name = 'helper') {
  const model = new OwnLlm(({ contents }) => {
    const isNoted = contents.at(-1)?.parts?.some(({ functionResponse }) => functionResponse);
    // A model that is asked for ever ends here, and not in the memory of the machine.
    if (model.requests.length > 500) throw new Error('asked for ever');
    return [isNoted ? says('helped') : callsTo('note')];
  });
  return { model, agent: new LlmAgent({ name, model, tools: [note] }) };
}

const asked = async (agent: BaseAgent, context: InvocationContext | undefined) =>
  context ? (await Array.fromAsync(agent.runAsync(context))).map(brief) : [];
const steps = ['helper: calls note', 'helper: gets {"result":"noted"}', 'helper: helped'];

it('an agent that a tool runs takes each step once', async () => {
  const { model, agent } = helperOf();
  const seen: string[][] = [];
  const ask = new FunctionTool({
    name: 'ask',
    description: 'asks',
    execute: async (_args, context) => void seen.push(await asked(agent, context?.invocationContext)),
  });
  const root = new OwnLlm((_request, n) => [n === 1 ? callsTo('ask', 'ask') : says('done')]);
  const { say } = await chat(new LlmAgent({ name: 'root', model: root, tools: [ask] }));
  expect((await say('go', unlimited)).map(brief).at(-1)).toBe('root: done');
  expect(seen).toEqual([steps, steps]);
  expect(model.requests).toHaveLength(4);
});

it('an agent that a callback or a plugin runs takes each step once', async () => {
  const { model, agent } = helperOf();
  const seen: string[][] = [];
  const run = async (context: InvocationContext | undefined) => void seen.push(await asked(agent, context));
  class Plugin extends BasePlugin {
    override async beforeRunCallback({ invocationContext }: { invocationContext: InvocationContext }) {
      await run(invocationContext);
      return undefined;
    }
  }
  const root = new LlmAgent({
    name: 'root',
    model: new OwnLlm(() => [says('done')]),
    beforeModelCallback: async ({ context }) => {
      await run(context.invocationContext);
      return undefined;
    },
  });
  const { say } = await chat(root, undefined, { plugins: [new Plugin('runs')] });
  await say('go', unlimited);
  expect(seen).toEqual([steps, steps]);
  expect(model.requests).toHaveLength(4);
});

it('an agent whose runAsync is overridden takes each step once, whatever the override passes on', async () => {
  for (const passes of [() => false, () => true]) {
    const { model } = helperOf();
    class Filtering extends LlmAgent {
      override async *runAsync(context: InvocationContext): AsyncGenerator<Event, void, void> {
        for await (const event of super.runAsync(context)) if (passes()) yield { ...event, author: 'nobody' };
      }
    }
    const { say } = await chat(new Filtering({ name: 'helper', model, tools: [note] }));
    const events = await say('go', unlimited);
    expect(events).toHaveLength(passes() ? 3 : 0);
    expect(model.requests).toHaveLength(2);
  }
});

it('an agent without a runner takes each step once, also within a workflow', async () => {
  const [one, two] = [helperOf('one'), helperOf('two')];
  for (const agent of [
    one.agent,
    new SequentialAgent({ name: 'line', subAgents: [one.agent.clone(), two.agent] }),
  ]) {
    const sessionService = new InMemorySessionService();
    const session = await sessionService.createSession({ appName: 'app', userId: 'u' });
    const runConfig = runConfigSchema.parse(unlimited);
    const context = new InvocationContext({ invocationId: 'e', session, sessionService, agent, runConfig });
    const events = await asked(agent, context);
    expect(events.at(-1)).toMatch(/: helped$/);
  }
  expect([one, two].map(({ model }) => model.requests.length)).toEqual([4, 2]);
});

it('an agent whose events a plugin puts where it does not see them is not asked the same again', async () => {
  const { model, agent } = helperOf();
  class Moving extends BasePlugin {
    override async onEventCallback({ event }: { event: Event }) {
      return { ...event, branch: 'elsewhere' };
    }
  }
  const branched = new ParallelAgent({ name: 'fan', subAgents: [agent] });
  const { say } = await chat(branched, undefined, { plugins: [new Moving('moves')] });
  await expect(say('go', unlimited)).rejects.toThrow(/agent helper would send the same request/);
  expect(model.requests).toHaveLength(1);
});

it('an agent whose events are emptied, or copied under another name, does not go on for ever', async () => {
  const passes: ((event: Event) => Event)[] = [
    (event) => {
      delete event.content;
      return event;
    },
    ({ content }) =>
      createEvent({ author: 'somebody', ...(content && { content: structuredClone(content) }) }),
  ];
  for (const pass of passes) {
    const { model, agent } = helperOf();
    class Own extends BaseAgent {
      protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
        for await (const event of agent.runAsync(context)) yield pass(event);
      }
    }
    const { say } = await chat(new Own({ name: 'own' }));
    await say('go', unlimited).catch((error) => expect(String(error)).toMatch(/would send the same request/));
    expect(model.requests.length).toBeLessThan(4);
  }
});

it('a long-running call that reports progress and has no result is made once', async () => {
  let made = 0;
  class Job extends BaseTool {
    constructor() {
      super({ name: 'job', description: 'works', isLongRunning: true });
    }
    override _getDeclaration() {
      return { name: 'job' };
    }
    override async runAsync() {
      made += 1;
      if (made > 50) throw new Error('made for ever');
      return (function* () {
        yield { at: 1 };
        return new FirstWord(undefined);
      })();
    }
  }
  const model = new OwnLlm(() => [callsTo('job')]);
  const { say } = await chat(new LlmAgent({ name: 'root', model, tools: [new Job()] }));
  await say('go', unlimited);
  expect([made, model.requests.length]).toEqual([1, 1]);
});

it('code may ask an agent several times, and a loop without an end is an error that says so', async () => {
  const { model, agent } = helperOf();
  const ask = (times: number) =>
    new FunctionTool({
      name: 'ask',
      description: 'asks',
      execute: async (_args, context) => {
        for (let n = 0; n < times; n += 1) await asked(agent, context?.invocationContext);
        return 'best';
      },
    });
  const told = async (times: number) => {
    const root = new OwnLlm((_request, n) => [n === 1 ? callsTo('ask') : says('done')]);
    const agents = new LlmAgent({ name: 'root', model: root, tools: [ask(times)] });
    const { say } = await chat(agents, undefined, { onFailure: () => {} });
    return (await say('go', unlimited)).map(brief)[1];
  };
  expect(await told(20)).toBe('root: gets {"result":"best"}');
  model.requests.length = 0;
  expect(await told(Number.POSITIVE_INFINITY)).toMatch(/sent the same request .* no new event: end the loop/);
  expect(model.requests.length).toBeLessThan(110);
});

it('code that runs agents whose events it drops ends, too', async () => {
  const { model, agent } = helperOf();
  class Loop extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      for (;;) for await (const event of agent.runAsync(context)) if (event.id === '') yield event;
    }
  }
  const { say } = await chat(new Loop({ name: 'loop' }));
  await expect(say('go', unlimited)).rejects.toThrow(/agent helper has sent the same request/);
  expect(model.requests.length).toBeLessThan(110);
});

it('the same step twice in a row is an error that says so', () => {
  const step = { kind: 'call-model', behind: 'a' } as const;
  const first = newBasis('root', step, undefined);
  expect(newBasis('root', { ...step, behind: 'b' }, first)).not.toBe(first);
  expect(() => newBasis('root', step, first)).toThrow(/would call its model with the same request again/);
});
