import type { Event } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { BaseAgent } from '../base/base-agent.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { createEvent, getFunctionCalls } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, crashingChat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';

/** Makes an agent with user code above an agent that calls a tool and then answers. */
async function setup(code: (events: AsyncGenerator<Event>) => AsyncGenerator<Event, void, void>) {
  const { llm, requests } = await scriptedModel(
    { calls: [{ name: 'count', args: {} }] },
    { text: 'one' },
    { text: 'never' },
  );
  let calls = 0;
  const tool = new FunctionTool({
    name: 'count',
    description: 'counts',
    execute: () => {
      calls += 1;
      return { calls };
    },
  });
  const child = new LlmAgent({ name: 'child', model: llm, tools: [tool] });
  const agent = new (class extends BaseAgent {
    protected override runAsyncImpl(context: InvocationContext) {
      return code(child.runAsync(context));
    }
  })({ name: 'own', subAgents: [child] });
  const kinds = (at: number) => requests[at]?.contents.map(({ parts }) => Object.keys(parts?.[0] ?? {})[0]);
  return { agent, requests, kinds };
}

/** Yields a copy of each event. */
function copied(copy: (event: Event) => Event) {
  return async function* (events: AsyncGenerator<Event>) {
    for await (const event of events) yield copy(event);
  };
}

let ids = 0;
const newId = () => `own-${++ids}`;

const copies: [string, (event: Event) => Event, string][] = [
  ['under new ids', (event) => ({ ...event, id: newId() }), 'child'],
  ['without ids', ({ id: _id, ...event }) => createEvent(event), 'child'],
  ['of the content alone', ({ author, content }) => createEvent({ author, content }), 'child'],
  ['through and through', (event) => ({ ...structuredClone(event), id: newId() }), 'child'],
  ['in the name of nobody', (event) => ({ ...event, id: newId(), author: 'zoe' }), 'zoe'],
  ['under the old ids, renamed', (event) => ({ ...event, author: 'zoe' }), 'zoe'],
  ['in the name of the agent around', (event) => ({ ...event, id: newId(), author: 'own' }), 'own'],
  ['of another invocation', (event) => ({ ...event, invocationId: 'e-another' }), 'child'],
];

describe('own code that yields copies', () => {
  it.each(copies)('%s: each event is in the log and in the prompt once', async (_title, copy, author) => {
    const { agent, requests, kinds } = await setup(copied(copy));
    const { say, stored } = await chat(agent);
    const expected = [`${author}: calls count`, `${author}: gets {"calls":1}`, `${author}: one`];
    expect((await say('go', { maxLlmCalls: 5 })).map(brief)).toEqual(expected);
    expect((await stored()).events.map(brief)).toEqual(['user: go', ...expected]);
    expect(requests).toHaveLength(2);
    if (author === 'child') expect(kinds(1)).toEqual(['text', 'functionCall', 'functionResponse']);
    else expect(kinds(1)).toHaveLength(3);
  });

  it.each(copies)('%s: the next process continues after a crash', async (_title, copy, author) => {
    const { agent, requests } = await setup(copied(copy));
    const { say } = await crashingChat(agent);
    const expected = [`${author}: calls count`, `${author}: gets {"calls":1}`, `${author}: one`];
    expect((await say('go')).map(brief)).toEqual(expected);
    expect(requests).toHaveLength(2);
  });

  it('and the originals, under other ids: both are in the log', async () => {
    const { agent } = await setup(async function* (events) {
      for await (const event of events) yield* [event, { ...event, id: newId() }];
    });
    const { say } = await chat(agent);
    const events = await say('go');
    expect(events.map(brief).filter((each) => each === 'child: one')).toHaveLength(2);
    expect(new Set(events.map(({ id }) => id)).size).toBe(6);
  });
});

describe('own code that yields events', () => {
  it('one step late: the agent continues to its answer', async () => {
    const { agent, kinds } = await setup(async function* (events) {
      let last: Event | undefined;
      for await (const event of events) {
        if (last) yield last;
        last = event;
      }
      if (last) yield last;
    });
    const { say } = await chat(agent);
    expect((await say('go')).map(brief)).toEqual([
      'child: calls count',
      'child: gets {"calls":1}',
      'child: one',
    ]);
    expect(kinds(1)).toEqual(['text', 'functionCall', 'functionResponse']);
  });

  it('in the name of an agent: after a crash they are not committed again', async () => {
    const { agent } = await setup(async function* (events) {
      yield createEvent({ author: 'child', content: { role: 'model', parts: [{ text: 'wait' }] } });
      yield* events;
    });
    expect((await (await crashingChat(agent)).say('go')).map(brief)).toEqual([
      'child: wait',
      'child: calls count',
      'child: gets {"calls":1}',
      'child: one',
    ]);
  });

  it('of an earlier turn: they are committed again, in this turn', async () => {
    const agent = new (class extends BaseAgent {
      protected override async *runAsyncImpl({ session: { events } }: InvocationContext) {
        yield events.find(({ author }) => author === 'own') ??
          createEvent({ content: { parts: [{ text: 'hi' }] } });
      }
    })({ name: 'own' });
    const { say, stored } = await chat(agent);
    await say('go');
    await say('again');
    const { events } = await stored();
    expect(events.map(brief)).toEqual(['user: go', 'own: hi', 'user: again', 'own: hi']);
    expect(events.flatMap(getFunctionCalls)).toEqual([]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(4);
    expect(events[3]?.invocationId).toBe(events[2]?.invocationId);
  });
});
