import type { Event } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { BaseAgent } from '../base/base-agent.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { createEvent } from '../events/event.ts';
import { LlmAgent, type LlmAgentConfig } from '../flow/llm-agent.ts';
import { brief, chat, crashingChat, runWithCrashes, scriptedModel } from '../harness.fixture.ts';
import { EXIT_LOOP } from '../tools/exit-loop-tool.ts';
import { FunctionTool, LongRunningFunctionTool } from '../tools/function-tool.ts';
import { LoopAgent } from './loop-agent.ts';
import { ParallelAgent } from './parallel-agent.ts';
import { SequentialAgent } from './sequential-agent.ts';

type Replies = Parameters<typeof scriptedModel>;

/** Makes an agent with a scripted model, and the list of the requests to the model. */
async function scripted(name: string, replies: Replies, config: Partial<LlmAgentConfig> = {}) {
  const { llm, requests } = await scriptedModel(...replies);
  return { agent: new LlmAgent({ name, model: llm, ...config }), requests };
}

const approve = () =>
  new LongRunningFunctionTool({ name: 'approve', description: 'asks a person', execute: () => undefined });

function openCall(events: readonly Event[]): string | undefined {
  return events.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds).at(-1);
}

describe('a sequence', () => {
  it('runs its agents in order, in one state', async () => {
    const one = await scripted('one', [{ text: 'draft' }], { outputKey: 'draft' });
    const two = await scripted('two', [{ text: 'final' }], { instruction: 'Edit {draft}' });
    const { say } = await chat(new SequentialAgent({ name: 'pipeline', subAgents: [one.agent, two.agent] }));
    expect((await say('go')).map(brief)).toEqual(['one: draft', 'two: final']);
    expect(two.requests[0]?.systemInstruction).toContain('Edit draft');
  });

  it('pauses with a waiting sub-agent, and continues there and after it when the answer comes (ADK defect B4)', async () => {
    const one = await scripted('one', [{ text: 'first' }]);
    const two = await scripted('two', [{ calls: [{ name: 'approve', args: {} }] }, { text: 'approved' }], {
      tools: [approve()],
    });
    const three = await scripted('three', [{ text: 'last' }]);
    const subAgents = [one.agent, two.agent, three.agent];
    const { say, answer } = await chat(new SequentialAgent({ name: 'pipeline', subAgents }));
    const asked = await say('go');
    expect(asked.map(brief)).toEqual(['one: first', 'two: calls approve']);
    const rest = await answer(openCall(asked), { ok: true });
    expect(rest.map(brief)).toEqual(['two: approved', 'three: last']);
    expect(one.requests).toHaveLength(1);
  });

  it('starts from the beginning with a message that is not an answer', async () => {
    const one = await scripted('one', [{ text: '1' }, { text: '2' }]);
    const two = await scripted('two', [{ text: 'a' }, { text: 'b' }]);
    const { say } = await chat(new SequentialAgent({ name: 'pipeline', subAgents: [one.agent, two.agent] }));
    await say('go');
    expect((await say('again')).map(brief)).toEqual(['one: 2', 'two: b']);
  });

  it('stays paused while one of two calls is open', async () => {
    const one = await scripted(
      'one',
      [
        {
          calls: [
            { name: 'approve', args: { n: 1 } },
            { name: 'approve', args: { n: 2 } },
          ],
        },
        { text: 'one more' },
        { text: 'both' },
      ],
      { tools: [approve()] },
    );
    const two = await scripted('two', [{ text: 'end' }]);
    const { say, answer } = await chat(
      new SequentialAgent({ name: 'pipeline', subAgents: [one.agent, two.agent] }),
    );
    const ids = (await say('go')).flatMap(({ longRunningToolIds = [] }) => longRunningToolIds);
    expect((await answer(ids[0], { ok: 1 })).map(brief)).toEqual(['one: one more']);
    expect((await answer(ids[1], { ok: 2 })).map(brief)).toEqual(['one: both', 'two: end']);
  });

  it('continues after a crash without calling a model twice', async () => {
    const note = new FunctionTool({ name: 'note', description: 'notes', execute: () => ({ ok: true }) });
    const one = await scripted('one', [{ calls: [{ name: 'note', args: {} }] }, { text: 'a' }], {
      tools: [note],
      afterAgentCallback: () => ({ parts: [{ text: 'after one' }] }),
    });
    const two = await scripted('two', [{ text: 'b' }], {
      beforeAgentCallback: (context) => context.state.set('seen', true) as undefined,
    });
    const inner = new SequentialAgent({ name: 'inner', subAgents: [two.agent] });
    const events = await runWithCrashes(
      new SequentialAgent({ name: 'pipeline', subAgents: [one.agent, inner] }),
    );
    expect(events.map(brief)).toEqual([
      'one: calls note',
      'one: gets {"ok":true}',
      'one: a',
      'one: after one',
      'two: ',
      'two: b',
    ]);
    expect([one.requests.length, two.requests.length]).toEqual([2, 1]);
  });

  it('continues after crashes that follow an answer', async () => {
    // A tool that may run again under the same call id after a crash.
    class Approve extends LongRunningFunctionTool {
      override get isIdempotent() {
        return true;
      }
    }
    const approval = new Approve({ name: 'approve', description: 'asks', execute: () => undefined });
    const note = new FunctionTool({ name: 'note', description: 'notes', execute: () => ({ ok: true }) });
    const one = await scripted('one', [{ text: 'first' }]);
    const two = await scripted(
      'two',
      [
        { calls: [{ name: 'approve', args: {} }] },
        { calls: [{ name: 'note', args: {} }] },
        { text: 'noted' },
      ],
      { tools: [approval, note], afterAgentCallback: () => ({ parts: [{ text: 'after two' }] }) },
    );
    const three = await scripted('three', [{ text: 'last' }]);
    const { say, answer } = await crashingChat(
      new SequentialAgent({ name: 'pipeline', subAgents: [one.agent, two.agent, three.agent] }),
    );
    const asked = await say('go');
    expect(asked.map(brief)).toEqual(['one: first', 'two: calls approve', 'two: after two']);
    expect((await answer(openCall(asked), { ok: true })).map(brief)).toEqual([
      'two: calls note',
      'two: gets {"ok":true}',
      'two: noted',
      'two: after two',
      'three: last',
    ]);
    expect([one.requests.length, two.requests.length, three.requests.length]).toEqual([1, 3, 1]);
  });

  it('runs when an LLM agent transfers to it, and continues there', async () => {
    const two = await scripted('two', [{ calls: [{ name: 'approve', args: {} }] }, { text: 'ok then' }], {
      tools: [approve()],
    });
    const three = await scripted('three', [{ text: 'end' }]);
    const pipeline = new SequentialAgent({ name: 'pipeline', subAgents: [two.agent, three.agent] });
    const boss = await scripted(
      'boss',
      [{ calls: [{ name: 'transfer_to_agent', args: { agentName: 'pipeline' } }] }],
      { subAgents: [pipeline] },
    );
    const { say, answer } = await chat(boss.agent);
    const asked = await say('go');
    expect(asked.map(brief).at(-1)).toBe('two: calls approve');
    const rest = await answer(openCall(asked), { ok: true });
    expect(rest.map(brief)).toEqual(['two: ok then', 'three: end']);
  });
});

describe('agents in parallel', () => {
  it('run on branches of their own and do not see each other', async () => {
    const a = await scripted('a', [{ text: 'A' }], { outputKey: 'a_out' });
    const b = await scripted('b', [{ text: 'B' }], { outputKey: 'b_out' });
    const end = await scripted('end', [{ text: 'both' }]);
    const par = new ParallelAgent({ name: 'par', subAgents: [a.agent, b.agent] });
    const { say, stored } = await chat(
      new SequentialAgent({ name: 'pipeline', subAgents: [par, end.agent] }),
    );
    const events = await say('go');
    expect(
      events
        .slice(0, 2)
        .map(({ branch }) => branch)
        .sort(),
    ).toEqual(['par.a', 'par.b']);
    expect(JSON.stringify(b.requests[0]?.contents)).not.toContain('[a] said');
    expect(JSON.stringify(end.requests[0]?.contents)).toMatch(
      /\[a\] said: A.*\[b\] said: B|\[b\] said: B.*\[a\] said: A/,
    );
    expect((await stored()).state).toEqual({ a_out: 'A', b_out: 'B' });
  });

  it('record on their branch that their model failed (ADK defect B10)', async () => {
    const a = await scripted('a', [{ text: 'A' }]);
    const b = await scripted('b', [{ error: { status: 429, message: 'quota' } }]);
    const { say } = await chat(new ParallelAgent({ name: 'par', subAgents: [a.agent, b.agent] }));
    const failed = (await say('go')).find(({ errorCode }) => errorCode !== undefined);
    expect(failed).toMatchObject({ author: 'b', branch: 'par.b', errorCode: '429' });
  });

  it('are all done before the work after them; an answer goes to the one that asked', async () => {
    const a = await scripted('a', [{ text: 'A' }]);
    const b = await scripted('b', [{ calls: [{ name: 'approve', args: {} }] }, { text: 'B' }], {
      tools: [approve()],
    });
    const end = await scripted('end', [{ text: 'end' }]);
    const par = new ParallelAgent({ name: 'par', subAgents: [a.agent, b.agent] });
    const { say, answer } = await chat(
      new SequentialAgent({ name: 'pipeline', subAgents: [par, end.agent] }),
    );
    const asked = await say('go');
    expect(asked.map(brief).sort()).toEqual(['a: A', 'b: calls approve']);
    expect((await answer(openCall(asked), { ok: true })).map(brief)).toEqual(['b: B', 'end: end']);
    expect(a.requests).toHaveLength(1);
  });

  it('stops the others when one throws', async () => {
    const a = await scripted('a', [{ hang: true }]);
    const b = await scripted('b', [{ text: 'never' }], { instruction: 'needs {nothing}' });
    const { say } = await chat(new ParallelAgent({ name: 'par', subAgents: [a.agent, b.agent] }));
    await expect(say('go')).rejects.toThrow(/state key "nothing"/);
  });

  it('continue after a crash', async () => {
    const a = await scripted('a', [{ text: 'A' }, { text: 'A' }]);
    // The later of the two had called its model when the process died.
    const b = await scripted('b', [{ text: 'B' }, { text: 'B' }]);
    const end = await scripted('end', [{ text: 'end' }]);
    const par = new ParallelAgent({ name: 'par', subAgents: [a.agent, b.agent] });
    const events = await runWithCrashes(
      new SequentialAgent({ name: 'pipeline', subAgents: [par, end.agent] }),
    );
    expect(events.map(brief).sort()).toEqual(['a: A', 'b: B', 'end: end']);
    expect(events.at(-1)?.author).toBe('end');
  });
});

describe('a loop', () => {
  it('refuses a loop without sub-agents', () => {
    expect(() => new LoopAgent({ name: 'round', subAgents: [] })).toThrow(/loop round has no sub-agents/);
  });

  it('runs until it has made its rounds', async () => {
    const a = await scripted('a', [{ text: '1' }, { text: '2' }]);
    const b = await scripted('b', [{ text: 'x' }, { text: 'y' }]);
    const loop = new LoopAgent({ name: 'loop', subAgents: [a.agent, b.agent], maxIterations: 2 });
    const { say } = await chat(loop);
    expect((await say('go')).map(brief)).toEqual(['a: 1', 'b: x', 'a: 2', 'b: y']);
  });

  const refine = async () => {
    const a = await scripted('a', [{ text: '1' }, { text: '2' }]);
    const b = await scripted('b', [{ text: 'again' }, { calls: [{ name: 'exit_loop', args: {} }] }], {
      tools: [EXIT_LOOP],
    });
    const end = await scripted('end', [{ text: 'done' }]);
    const loop = new LoopAgent({ name: 'loop', subAgents: [a.agent, b.agent] });
    return new SequentialAgent({ name: 'pipeline', subAgents: [loop, end.agent] });
  };
  const refined = ['a: 1', 'b: again', 'a: 2', 'b: calls exit_loop', 'b: gets {"result":""}', 'end: done'];

  it('ends when an agent escalates', async () => {
    expect((await (await chat(await refine())).say('go')).map(brief)).toEqual(refined);
  });

  it('continues in the same round after a crash', async () => {
    expect((await runWithCrashes(await refine())).map(brief)).toEqual(refined);
  });

  it('pauses and continues in the same round', async () => {
    const a = await scripted('a', [{ text: '1' }, { text: '2' }]);
    const b = await scripted(
      'b',
      [{ text: 'x' }, { calls: [{ name: 'approve', args: {} }] }, { text: 'y' }],
      { tools: [approve()] },
    );
    const loop = new LoopAgent({ name: 'loop', subAgents: [a.agent, b.agent], maxIterations: 2 });
    const { say, answer } = await chat(loop);
    const asked = await say('go');
    expect(asked.map(brief)).toEqual(['a: 1', 'b: x', 'a: 2', 'b: calls approve']);
    expect((await answer(openCall(asked), { ok: true })).map(brief)).toEqual(['b: y']);
  });
});

describe('an agent with code of its own', () => {
  class Editor extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext) {
      const [writer, critic] = this.subAgents;
      if (!writer || !critic) return;
      yield* writer.runAsync(context);
      yield* critic.runAsync(context);
      if (context.session.state.verdict === 'bad') yield* writer.runAsync(context);
      yield createEvent({
        invocationId: context.invocationId,
        author: this.name,
        content: { role: 'model', parts: [{ text: 'published' }] },
      });
    }
  }

  const editor = async () => {
    const writer = await scripted('writer', [{ text: 'draft' }, { text: 'better' }]);
    const critic = await scripted('critic', [{ text: 'bad' }], { outputKey: 'verdict' });
    return new Editor({ name: 'editor', subAgents: [writer.agent, critic.agent] });
  };
  const edited = ['writer: draft', 'critic: bad', 'writer: better', 'editor: published'];

  it('runs its children as often as it likes', async () => {
    expect((await (await chat(await editor())).say('go')).map(brief)).toEqual(edited);
  });

  it("runs again after a crash without committing its children's events twice", async () => {
    const events = await runWithCrashes(new SequentialAgent({ name: 'top', subAgents: [await editor()] }));
    expect(events.map(brief)).toEqual(edited);
  });
});
