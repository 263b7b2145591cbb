import {
  BaseAgent,
  BasePlugin,
  type Context,
  createEvent,
  type Event,
  FunctionTool,
  getFunctionCalls,
  type InvocationContext,
  LlmAgent,
  LongRunningFunctionTool,
  SequentialAgent,
  stringifyContent,
} from '@agentmesh/agent';
import type { Bus } from '@agentmesh/bus';
import { describe, expect, it } from 'vitest';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { serveAgent } from '../serve/serve-agent.ts';

type Code = (context: InvocationContext, child: BaseAgent) => AsyncGenerator<Event, void, void>;

/** Makes an agent of user code above an agent that another process serves. */
function own(name: string, code: Code, child: BaseAgent): BaseAgent {
  return new (class extends BaseAgent {
    protected override runAsyncImpl(context: InvocationContext) {
      return code(context, child);
    }
  })({ name, subAgents: [child] });
}

function sayOwn({ invocationId }: InvocationContext, text: string): Event {
  return createEvent({ invocationId, author: 'own', content: { role: 'model', parts: [{ text }] } });
}

/** Makes a tool that counts its calls, and notes the state that it saw. */
function counter() {
  const seen: unknown[] = [];
  const tool = new FunctionTool({
    name: 'count',
    description: 'counts',
    execute: (_args, context?: Context) => {
      seen.push(context?.state.get('temp:n') ?? 0);
      context?.state.set('temp:n', seen.length);
      return { n: seen.length };
    },
  });
  return { tool, seen };
}

/** Serves the child and the agent of user code above it, and sends a message. */
async function run(code: Code, child: BaseAgent, text = 'go') {
  const world = memoryMesh();
  await serveAgent(await world.connect(`agent_${child.name}`), child);
  await serveAgent(await world.connect('agent_own'), own('own', code, remoteAgent(child.name)), {
    app: 'app',
  });
  const { say, ref } = await world.chat('app');
  const { events, end } = await say(text);
  const log = (await world.sessions.log.readEvents(ref)).map(({ event }) => event);
  return { told: events.map(brief), log: log.slice(1).map(brief), events: log, end, world };
}

describe('user code above a remote agent', () => {
  it('holds an answer back: it is neither published nor committed', async () => {
    const model = new ScriptedLlm(says('draft'));
    const { told, log } = await run(
      async function* (context, child) {
        const said = await Array.fromAsync(child.runAsync(context));
        yield sayOwn(context, `it said ${said.map(stringifyContent).join()}`);
      },
      new LlmAgent({ name: 'child', model }),
    );
    expect(told).toEqual(['own: it said draft']);
    expect(log).toEqual(told);
  });

  it('holds calls and results back: each call is made once, and the invocation state is passed on', async () => {
    const { tool, seen } = counter();
    const model = new ScriptedLlm(calls('count'), calls('count'), says('two'));
    const { log } = await run(
      async function* (context, child) {
        for await (const event of child.runAsync(context)) if (stringifyContent(event)) yield event;
      },
      new LlmAgent({ name: 'child', model, tools: [tool] }),
    );
    expect(log).toEqual(['child: two']);
    expect(seen).toEqual([0, 1]);
  });

  it('passes all events on: the log is the same as in one process', async () => {
    const { tool, seen } = counter();
    const model = new ScriptedLlm(calls('count'), calls('count'), says('two'));
    const { log, events } = await run(
      async function* (context, child) {
        yield* child.runAsync(context);
      },
      new LlmAgent({ name: 'child', model, tools: [tool] }),
    );
    expect(log).toEqual([
      'child: calls count',
      'child: gets {"n":1}',
      'child: calls count',
      'child: gets {"n":2}',
      'child: two',
    ]);
    expect(seen).toEqual([0, 1]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });

  it('changes an answer: the change is published and committed', async () => {
    const { told, log } = await run(
      async function* (context, child) {
        for await (const event of child.runAsync(context))
          yield {
            ...event,
            content: { role: 'model', parts: [{ text: stringifyContent(event).toUpperCase() }] },
          };
      },
      new LlmAgent({ name: 'child', model: new ScriptedLlm(says('hello')) }),
    );
    expect(told).toEqual(['child: HELLO']);
    expect(log).toEqual(told);
  });

  it.each([
    ['under new ids', (event: Event) => ({ ...event, id: `own-${event.id}` }), 'child'],
    ['in the name of nobody', (event: Event) => ({ ...event, id: `own-${event.id}`, author: 'zoe' }), 'zoe'],
    ['of another invocation', (event: Event) => ({ ...event, invocationId: 'e-another' }), 'child'],
    ['of the content alone', ({ content }: Event) => createEvent({ author: 'child', content }), 'child'],
  ])(
    'passes copies on, %s: the log and the prompts are the same as in one process',
    async (_title, copy, author) => {
      const { tool, seen } = counter();
      const model = new ScriptedLlm(calls('count'), says('one'));
      const { log } = await run(
        async function* (context, child) {
          for await (const event of child.runAsync(context)) yield copy(event);
        },
        new LlmAgent({ name: 'child', model, tools: [tool] }),
      );
      expect(log).toEqual([`${author}: calls count`, `${author}: gets {"n":1}`, `${author}: one`]);
      expect(seen).toHaveLength(1);
      expect(model.requests[1]?.contents).toHaveLength(3);
    },
  );

  it('passes all events on one step late: the agent continues to its answer', async () => {
    const model = new ScriptedLlm(calls('count'), says('one'));
    const { log } = await run(
      async function* (context, child) {
        let last: Event | undefined;
        for await (const event of child.runAsync(context)) {
          if (last) yield last;
          last = event;
        }
        if (last) yield last;
      },
      new LlmAgent({ name: 'child', model, tools: [counter().tool] }),
    );
    expect(log).toEqual(['child: calls count', 'child: gets {"n":1}', 'child: one']);
    expect(model.requests[1]?.contents).toHaveLength(3);
  });

  it('stops the agent at a call: the call is not made', async () => {
    const { tool, seen } = counter();
    const model = new ScriptedLlm(calls('count'), says('never'));
    const { log } = await run(
      async function* (context, child) {
        for await (const event of child.runAsync(context))
          if (getFunctionCalls(event).length > 0) {
            yield sayOwn(context, 'stopped');
            return;
          }
      },
      new LlmAgent({ name: 'child', model, tools: [tool] }),
    );
    expect(log).toEqual(['own: stopped']);
    expect(seen).toEqual([]);
  });

  it('may run a remote workflow, whose second agent sees the events of the first', async () => {
    const second = new ScriptedLlm(says('and two'));
    const { log } = await run(
      async function* (context, child) {
        for await (const event of child.runAsync(context))
          yield {
            ...event,
            author: 'own',
            content: { role: 'model', parts: [{ text: `<${stringifyContent(event)}>` }] },
          };
      },
      new SequentialAgent({
        name: 'line',
        subAgents: [
          new LlmAgent({ name: 'a', model: new ScriptedLlm(says('one')) }),
          new LlmAgent({ name: 'b', model: second }),
        ],
      }),
    );
    expect(log).toEqual(['own: <one>', 'own: <and two>']);
    expect(JSON.stringify(second.requests[0]?.contents)).toContain('one');
  });

  it('may run a remote workflow with an agent in a third process', async () => {
    const world = memoryMesh();
    const last = new ScriptedLlm(says('two'));
    await serveAgent(await world.connect('agent_b'), new LlmAgent({ name: 'b', model: last }));
    const a = new LlmAgent({ name: 'a', model: new ScriptedLlm(says('one')), outputKey: 'temp:a' });
    const line = new SequentialAgent({ name: 'line', subAgents: [a, remoteAgent('b')] });
    await serveAgent(await world.connect('agent_line'), line);
    const code: Code = async function* (context, child) {
      for await (const event of child.runAsync(context)) {
        const text = `<${stringifyContent(event)}>`;
        yield { ...event, content: { role: 'model', parts: [{ text }] } };
      }
    };
    await serveAgent(await world.connect('agent_own'), own('own', code, remoteAgent('line')), { app: 'app' });
    const { say } = await world.chat('app');
    expect((await say('go')).events.map(brief)).toEqual(['a: <one>', 'b: <two>']);
    expect(JSON.stringify(last.requests[0]?.contents)).toContain('<one>');
  });

  it('may run remote user code', async () => {
    const world = memoryMesh();
    const { tool, seen } = counter();
    const model = new ScriptedLlm(calls('count'), says('one'));
    await serveAgent(await world.connect('agent_leaf'), new LlmAgent({ name: 'leaf', model, tools: [tool] }));
    const onlyWords: Code = async function* (context, child) {
      for await (const event of child.runAsync(context)) if (stringifyContent(event)) yield event;
    };
    await serveAgent(await world.connect('agent_inner'), own('inner', onlyWords, remoteAgent('leaf')));
    const renamed: Code = async function* (context, child) {
      for await (const event of child.runAsync(context)) yield { ...event, author: 'own' };
    };
    await serveAgent(await world.connect('agent_own'), own('own', renamed, remoteAgent('inner')), {
      app: 'app',
    });
    const { say, ref } = await world.chat('app');
    expect((await say('go')).events.map(brief)).toEqual(['own: one']);
    expect(seen).toEqual([0]);
    expect((await world.sessions.log.readEvents(ref)).map(({ event }) => brief(event))).toEqual([
      'user: go',
      'own: one',
    ]);
  });

  it('waits for a remote long-running call, and continues with the answer', async () => {
    const world = memoryMesh();
    let begun = 0;
    const ticket = new LongRunningFunctionTool({
      name: 'ticket',
      description: 'opens a ticket',
      execute: () => {
        begun += 1;
        return { status: 'open' };
      },
    });
    const model = new ScriptedLlm(calls('ticket'), says('it is open'), says('it is closed'));
    await serveAgent(
      await world.connect('agent_child'),
      new LlmAgent({ name: 'child', model, tools: [ticket] }),
    );
    const all: Code = async function* (context, child) {
      yield* child.runAsync(context);
    };
    await serveAgent(await world.connect('agent_own'), own('own', all, remoteAgent('child')), { app: 'app' });
    const { say, client, ref } = await world.chat('app');
    const { events } = await say('go');
    expect(events.map(brief)).toEqual([
      'child: calls ticket',
      'child: gets {"status":"open"}',
      'child: it is open',
    ]);
    expect(begun).toBe(1);
    const [call] = events.flatMap(getFunctionCalls);
    const open = await client.sessions.pending.list(ref);
    expect(JSON.stringify(open)).toContain(call?.id);
  });

  it('ends at the limit of model calls when it runs the agent again and again', async () => {
    const model = new ScriptedLlm(...Array.from({ length: 20 }, () => says('again')));
    const world = memoryMesh();
    await serveAgent(await world.connect('agent_child'), new LlmAgent({ name: 'child', model }));
    const forever: Code = async function* (context, child) {
      for (;;) for await (const event of child.runAsync(context)) if (event.id === '') yield event;
    };
    await serveAgent(await world.connect('agent_own'), own('own', forever, remoteAgent('child')), {
      app: 'app',
    });
    const { say } = await world.chat('app');
    const { end } = await say('go', { maxLlmCalls: 3 });
    expect(end).toMatchObject({ status: 'failed', error: { code: 'failed_precondition' } });
    expect(model.requests).toHaveLength(3);
  });

  it('lets each event pass the plugins of its own process once', async () => {
    const shout = () =>
      new (class extends BasePlugin {
        override async onEventCallback({ event }: { event: Event }) {
          const text = `${stringifyContent(event)}!`;
          return event.author === 'user'
            ? undefined
            : { ...event, content: { role: 'model', parts: [{ text }] } };
        }
      })('shout');
    const world = memoryMesh();
    const child = new LlmAgent({ name: 'child', model: new ScriptedLlm(says('hello')) });
    await serveAgent(await world.connect('agent_child'), child, { plugins: [shout()] });
    const all: Code = async function* (context, each) {
      yield* each.runAsync(context);
    };
    const above = own('own', all, remoteAgent('child'));
    await serveAgent(await world.connect('agent_own'), above, { app: 'app', plugins: [shout()] });
    const { say, ref } = await world.chat('app');
    expect((await say('go')).events.map(brief)).toEqual(['child: hello!']);
    expect((await world.sessions.log.readEvents(ref)).map(({ event }) => brief(event)).at(-1)).toBe(
      'child: hello!',
    );
  });
});

describe('user code above a remote agent, when a process dies', () => {
  const filtered: Code = async function* (context, child) {
    for await (const event of child.runAsync(context))
      if (stringifyContent(event) || getFunctionCalls(event).length > 0) yield event;
  };
  const steps = (count: number) => [...Array.from({ length: count }, () => calls('count')), says('done')];

  /** Serves two replicas of both agents; the process that `dies` names is killed within the second call. */
  async function crashing(dies: 'own' | 'child') {
    const world = memoryMesh();
    const ids: (string | undefined)[] = [];
    const model = new ScriptedLlm(...steps(3));
    const meshes = { own: [] as Bus[], child: [] as Bus[] };
    const tool = new FunctionTool({
      name: 'count',
      description: 'counts',
      execute: (_args, context?: Context) => {
        ids.push(context?.functionCallId);
        if (ids.length === 2) for (const bus of meshes[dies].splice(0, 1)) world.hub.kill(bus);
        return { n: ids.length };
      },
    });
    const serve = async (name: 'own' | 'child') => {
      const mesh = await world.connect(`agent_${name}`);
      meshes[name].push(mesh.bus);
      const agent =
        name === 'own'
          ? own('own', filtered, remoteAgent('child'))
          : new LlmAgent({ name: 'child', model, tools: [tool] });
      await serveAgent(mesh, agent, name === 'own' ? { app: 'app' } : {});
    };
    await serve('child');
    await serve('own');
    const { say, ref } = await world.chat('app');
    const saying = say('go');
    await expect.poll(() => ids.length).toBeGreaterThan(1);
    await serve(dies);
    const { end } = await saying;
    const log = (await world.sessions.log.readEvents(ref)).map(({ event }) => event);
    return { log, end, ids };
  }

  it.each(['own', 'child'] as const)(
    'continues from the committed events: the process of %s',
    async (dies) => {
      const { log, end, ids } = await crashing(dies);
      expect(end).toMatchObject({ status: 'completed' });
      expect(log.map(brief)).toEqual([
        'user: go',
        'child: calls count',
        'child: calls count',
        'child: calls count',
        'child: done',
      ]);
      // A repeated call has the same id.
      const made = log.flatMap(getFunctionCalls).map(({ id }) => id);
      expect(new Set(ids)).toEqual(new Set(made));
      expect(new Set(log.map(({ id }) => id)).size).toBe(log.length);
    },
  );
});
