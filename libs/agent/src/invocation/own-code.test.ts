import type { Event } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { BaseAgent } from '../base/base-agent.ts';
import { BasePlugin } from '../base/base-plugin.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { createEvent, getFunctionResponses, stringifyContent } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, crashingChat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';

type Code = (context: InvocationContext, children: readonly BaseAgent[]) => AsyncGenerator<Event, void, void>;

/** Makes an agent with user code above other agents. */
function own(code: Code, ...subAgents: BaseAgent[]): BaseAgent {
  return new (class extends BaseAgent {
    protected override runAsyncImpl(context: InvocationContext) {
      return code(context, this.subAgents);
    }
  })({ name: 'own', subAgents });
}

/** Reads events and yields none of them. */
async function* silently(events: AsyncIterable<Event> | undefined): AsyncGenerator<Event, void, void> {
  if (events) for await (const event of events) if (event.id === '') yield event;
}

const say = (author: string, text: string) =>
  createEvent({ author, content: { role: 'model', parts: [{ text }] } });

function counter() {
  let calls = 0;
  const tool = new FunctionTool({
    name: 'count',
    description: 'counts',
    execute: (args: { secret?: string }) => {
      calls += 1;
      return { calls, ...args };
    },
  });
  return { tool, made: () => calls };
}

describe('own code above an LLM agent', () => {
  it('may drop the answer: the model is called once, and the run ends', async () => {
    const { llm, requests } = await scriptedModel({ text: 'draft' }, { text: 'never' });
    const agent = own(
      async function* (context, [child]) {
        const words: string[] = [];
        for await (const event of child?.runAsync(context) ?? []) words.push(stringifyContent(event));
        yield say('own', `it said ${words.join()}`);
      },
      new LlmAgent({ name: 'child', model: llm }),
    );
    const { say: tell } = await chat(agent);
    expect((await tell('go')).map(brief)).toEqual(['own: it said draft']);
    expect(requests).toHaveLength(1);
  });

  it('may drop a call and its result: the tool runs once, and the model sees both', async () => {
    const { llm, requests } = await scriptedModel({ calls: [{ name: 'count', args: {} }] }, { text: 'one' });
    const { tool, made } = counter();
    const agent = own(
      async function* (context, [child]) {
        for await (const event of child?.runAsync(context) ?? []) if (stringifyContent(event)) yield event;
      },
      new LlmAgent({ name: 'child', model: llm, tools: [tool] }),
    );
    const { say: tell, stored } = await chat(agent);
    expect((await tell('go')).map(brief)).toEqual(['child: one']);
    expect(made()).toBe(1);
    expect(requests[1]?.contents.map(({ parts }) => Object.keys(parts?.[0] ?? {})[0])).toEqual([
      'text',
      'functionCall',
      'functionResponse',
    ]);
    expect((await stored()).events.map(brief)).toEqual(['user: go', 'child: one']);
  });

  it("may yield its agents' events under its own name", async () => {
    const { llm, requests } = await scriptedModel({ text: 'hello' }, { text: 'never' });
    const agent = own(
      async function* (context, [child]) {
        for await (const event of child?.runAsync(context) ?? []) yield { ...event, author: 'own' };
      },
      new LlmAgent({ name: 'child', model: llm }),
    );
    const { say: tell } = await chat(agent);
    expect((await tell('go')).map(brief)).toEqual(['own: hello']);
    expect(requests).toHaveLength(1);
  });

  it('may collect the events of two agents and yield them afterwards', async () => {
    const one = await scriptedModel({ text: 'one' });
    const two = await scriptedModel({ text: 'two' });
    const agent = own(
      async function* (context, children) {
        const said = await Promise.all(children.map((child) => Array.fromAsync(child.runAsync(context))));
        yield* said.flat();
      },
      new LlmAgent({ name: 'a', model: one.llm }),
      new LlmAgent({ name: 'b', model: two.llm }),
    );
    const { say: tell } = await chat(agent);
    expect((await tell('go')).map(brief)).toEqual(['a: one', 'b: two']);
    expect([one.requests, two.requests].map(({ length }) => length)).toEqual([1, 1]);
  });

  it('may change an answer in place; it is the last one all the same', async () => {
    const { llm, requests } = await scriptedModel({ text: 'secret' }, { text: 'never' });
    const agent = own(
      async function* (context, [child]) {
        for await (const event of child?.runAsync(context) ?? []) {
          delete event.content;
          yield event;
        }
      },
      new LlmAgent({ name: 'child', model: llm }),
    );
    const { say: tell } = await chat(agent);
    expect(await tell('go')).toMatchObject([{ author: 'child' }]);
    expect(requests).toHaveLength(1);
  });

  it('that runs an agent again and again ends at a limit, and does not block timers', async () => {
    const { llm, requests } = await scriptedModel(...Array.from({ length: 20 }, () => ({ text: 'again' })));
    const agent = own(
      async function* (context, [child]) {
        for (;;) yield* silently(child?.runAsync(context));
      },
      new LlmAgent({ name: 'child', model: llm }),
    );
    const { say: tell } = await chat(agent);
    await expect(tell('go', { maxLlmCalls: 3 })).rejects.toMatchObject({ code: 'failed_precondition' });
    expect(requests).toHaveLength(3);
  });

  it('that never ends and waits for nothing can be aborted', async () => {
    const agent = own(
      async function* (context, [child]) {
        for (;;) yield* silently(child?.runAsync(context));
      },
      new (class extends BaseAgent {
        protected override async *runAsyncImpl() {}
      })({ name: 'silent' }),
    );
    const { runner, stored } = await chat(agent);
    const { id: sessionId } = await stored();
    const newMessage = { role: 'user', parts: [{ text: 'go' }] };
    const abortSignal = AbortSignal.timeout(50);
    const events = await Array.fromAsync(
      runner.runAsync({ userId: 'u', sessionId, newMessage, abortSignal }),
    );
    expect(events).toEqual([]);
  });

  it('continues after a crash as the agent decided, although the log shows other text', async () => {
    const { llm, requests } = await scriptedModel({ text: 'secret' }, { text: 'never' });
    const agent = own(
      async function* (context, [child]) {
        for await (const event of child?.runAsync(context) ?? []) {
          const { content: _content, ...rest } = event;
          yield rest;
        }
        yield say('own', 'done');
      },
      new LlmAgent({ name: 'child', model: llm }),
    );
    const events = await (await crashingChat(agent)).say('go');
    expect(events.map(({ author }) => author)).toEqual(['child', 'own']);
    expect(requests).toHaveLength(1);
  });
});

describe('a plugin that changes events', () => {
  const plugin = (change: (event: Event) => Event | undefined) =>
    new (class extends BasePlugin {
      override async onEventCallback({ event }: { event: Event }) {
        return event.author === 'user' ? undefined : change(event);
      }
    })('changes');

  it('that removes the answer: the model is called once', async () => {
    const { llm, requests } = await scriptedModel({ text: 'secret' }, { text: 'never' });
    const redact = plugin(({ content: _content, ...event }) => event);
    const { say: tell } = await chat(new LlmAgent({ name: 'solo', model: llm }), {}, { plugins: [redact] });
    expect(await tell('go')).toMatchObject([{ author: 'solo' }]);
    expect(requests).toHaveLength(1);
  });

  it('that replaces a result by text: the model is called, and sees the text', async () => {
    const { llm, requests } = await scriptedModel({ calls: [{ name: 'count', args: {} }] }, { text: 'done' });
    const words = plugin((event) =>
      getFunctionResponses(event).length > 0
        ? { ...event, content: { role: 'user', parts: [{ text: 'a result' }] } }
        : undefined,
    );
    const agent = new LlmAgent({ name: 'solo', model: llm, tools: [counter().tool] });
    const { say: tell } = await chat(agent, {}, { plugins: [words] });
    expect((await tell('go')).map(brief)).toEqual(['solo: calls count', 'solo: a result', 'solo: done']);
    expect(JSON.stringify(requests[1]?.contents)).toContain('a result');
  });

  it('that adds a call to an answer: nothing is called', async () => {
    const { llm, requests } = await scriptedModel({ text: 'done' });
    const { tool, made } = counter();
    const plant = plugin((event) => ({
      ...event,
      content: { role: 'model', parts: [{ functionCall: { id: 'planted', name: 'count', args: {} } }] },
    }));
    const agent = new LlmAgent({ name: 'solo', model: llm, tools: [tool] });
    const { say: tell } = await chat(agent, {}, { plugins: [plant] });
    await tell('go');
    expect(made()).toBe(0);
    expect(requests).toHaveLength(1);
  });

  it("that masks the arguments of a call in the log: the tool gets the model's arguments", async () => {
    const call = { name: 'count', args: { secret: 'pin' } };
    const { llm } = await scriptedModel({ calls: [call] }, { text: 'done' });
    const { tool } = counter();
    const mask = plugin((event) => JSON.parse(JSON.stringify(event).replaceAll('"pin"', '"***"')));
    const agent = new LlmAgent({ name: 'solo', model: llm, tools: [tool], outputKey: 'said' });
    const results: unknown[] = [];
    tool.runAsync = ((run) => async (request) => {
      results.push(request.args);
      return await run(request);
    })(tool.runAsync.bind(tool));
    const { say: tell, stored } = await chat(agent, {}, { plugins: [mask] });
    await tell('go');
    expect(results).toEqual([{ secret: 'pin' }]);
    expect(JSON.stringify((await stored()).events)).not.toContain('pin');
  });
});

describe('a subclass of an LLM agent', () => {
  const subclass = (
    code: (
      context: InvocationContext,
      flow: (context: InvocationContext) => AsyncGenerator<Event>,
    ) => AsyncGenerator<Event>,
    config: ConstructorParameters<typeof LlmAgent>[0],
  ) =>
    new (class extends LlmAgent {
      protected override runAsyncImpl(context: InvocationContext) {
        return code(context, (each) => super.runAsyncImpl(each));
      }
    })(config);

  it('that yields an event first: the model is still called once, also over crashes', async () => {
    const { llm, requests } = await scriptedModel({ text: 'hello' }, { text: 'hello again' });
    const agent = subclass(
      async function* (context, flow) {
        yield say('solo', 'let me think');
        yield* flow(context);
      },
      { name: 'solo', model: llm },
    );
    const { say: tell } = await chat(agent);
    expect((await tell('go')).map(brief)).toEqual(['solo: let me think', 'solo: hello']);
    expect((await (await crashingChat(agent)).say('go')).map(brief)).toEqual([
      'solo: let me think',
      'solo: hello again',
    ]);
    expect(requests).toHaveLength(2);
  });

  it('that runs the flow twice: the model is called twice, with calls each time, also over crashes', async () => {
    const call = { calls: [{ name: 'count', args: {} }] };
    const { llm } = await scriptedModel(
      call,
      { text: 'bad' },
      call,
      { text: 'good' },
      call,
      { text: 'bad' },
      call,
      {
        text: 'good',
      },
    );
    const { tool, made } = counter();
    const agent = subclass(
      async function* (context, flow) {
        yield* flow(context);
        yield* flow(context);
      },
      { name: 'solo', model: llm, tools: [tool] },
    );
    const expected = ['solo: calls count', 'solo: bad', 'solo: calls count', 'solo: good'];
    const words = (events: Event[]) => events.map(brief).filter((each) => !each.includes('gets'));
    const { say: tell } = await chat(agent);
    expect(words(await tell('go'))).toEqual(expected);
    expect(words(await (await crashingChat(agent)).say('go'))).toEqual(expected);
    expect(made()).toBe(4);
  });

  it('that holds back answers until one is good', async () => {
    const { llm } = await scriptedModel({ text: 'bad' }, { text: 'good' });
    const agent = subclass(
      async function* (context, flow) {
        for (let tries = 0; tries < 5; tries += 1)
          for await (const event of flow(context))
            if (stringifyContent(event) === 'good') {
              yield event;
              return;
            }
      },
      { name: 'solo', model: llm },
    );
    const { say: tell } = await chat(agent);
    expect((await tell('go')).map(brief)).toEqual(['solo: good']);
  });
});
