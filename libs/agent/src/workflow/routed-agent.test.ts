import { MeshError } from '@agentmesh/protocol';
import { describe, expect, it, vi } from 'vitest';
import { BaseAgent } from '../base/base-agent.ts';
import { LlmAgent, type LlmAgentConfig } from '../flow/llm-agent.ts';
import { brief, chat, crashingChat, runWithCrashes, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool, LongRunningFunctionTool } from '../tools/function-tool.ts';
import { type AgentRouter, RoutedAgent } from './routed-agent.ts';
import { SequentialAgent } from './sequential-agent.ts';

const down = { error: { status: 503, message: 'away' } };

async function scripted(
  name: string,
  replies: Parameters<typeof scriptedModel>,
  config: Partial<LlmAgentConfig> = {},
) {
  const { llm, requests } = await scriptedModel(...replies);
  return { agent: new LlmAgent({ name, model: llm, ...config }), requests };
}

/** An agent that throws when it runs. */
class Broken extends BaseAgent {
  runs = 0;
  readonly #error: Error;

  constructor(name: string, error: Error) {
    super({ name });
    this.#error = error;
  }

  // biome-ignore lint/correctness/useYield: it fails
  protected override async *runAsyncImpl(): AsyncGenerator<never, void, void> {
    this.runs += 1;
    throw this.#error;
  }
}

const note = () => new FunctionTool({ name: 'note', description: 'notes', execute: () => ({ ok: true }) });

describe('a routed agent', () => {
  it('continues with another agent when the model of the first one fails (ADK defect B24)', async () => {
    const one = await scripted('one', [down]);
    const two = await scripted('two', [{ text: 'here' }]);
    const agents = { first: one.agent, second: two.agent };
    const router = vi.fn<AgentRouter>((_agents, _context, failure) => (failure ? 'second' : 'first'));
    const { say } = await chat(new RoutedAgent({ name: 'routed', agents, router }));
    expect((await say('hi')).map(brief)).toEqual(['one: fails 503', 'two: here']);
    const [first, again] = router.mock.calls;
    expect(first).toEqual([agents, expect.objectContaining({ invocationId: expect.anything() }), undefined]);
    expect(again?.[2]?.failedKeys).toEqual(new Set(['first']));
    expect(again?.[2]?.lastError).toMatchObject({
      message: expect.stringContaining('away'),
      cause: { author: 'one', errorCode: '503' },
    });
    expect(JSON.stringify(two.requests[0]?.contents)).not.toContain('away');
  });

  it('tries those in a list in their order, and each once', async () => {
    const one = await scripted('one', [down]);
    const two = await scripted('two', [down]);
    const broken = new Broken('broken', new Error('no luck'));
    const agents = [one.agent, broken, two.agent];
    const { say } = await chat(new RoutedAgent({ name: 'routed', agents }));
    expect((await say('hi')).map(brief)).toEqual([
      'one: fails 503',
      'broken: fails UNKNOWN_ERROR',
      'two: fails 503',
    ]);
    expect(broken.runs).toBe(1);
  });

  it('is asked anew with each message', async () => {
    const one = await scripted('one', [{ text: '1' }, { text: '3' }]);
    const two = await scripted('two', [{ text: '2' }]);
    const router: AgentRouter = (_agents, { userContent }) =>
      userContent?.parts?.[0]?.text === 'even' ? 'two' : 'one';
    const routed = new RoutedAgent({ name: 'routed', agents: [one.agent, two.agent], router });
    const { say } = await chat(routed);
    const said = [await say('odd'), await say('even'), await say('odd')];
    expect(said.flat().map(brief)).toEqual(['one: 1', 'two: 2', 'one: 3']);
  });

  it('ends with an error that comes after the first content, or after a call', async () => {
    const cut = await scripted('cut', [{ text: 'one two', cutAfter: 1 }]);
    const late = await scripted('late', [{ calls: [{ name: 'note', args: {} }] }, down], { tools: [note()] });
    const two = await scripted('two', [{ text: 'never' }]);
    const other = await scripted('other', [{ text: 'never' }]);
    const words = await chat(new RoutedAgent({ name: 'routed', agents: [cut.agent, two.agent] }));
    expect((await words.say('hi', { streamingMode: 'sse' })).map(brief)).toEqual([
      'cut: one',
      'cut: fails unavailable',
    ]);
    const calls = await chat(new RoutedAgent({ name: 'routed', agents: [late.agent, other.agent] }));
    expect((await calls.say('hi')).map(brief)).toEqual([
      'late: calls note',
      'late: gets {"ok":true}',
      'late: fails 503',
    ]);
  });

  it('throws the last error when the router gives up or repeats itself', async () => {
    for (const router of [
      () => 'broken',
      (_a: unknown, _c: unknown, failure?: unknown) => (failure ? undefined : 'broken'),
    ]) {
      const broken = new Broken('broken', new Error('no luck'));
      const routed = new RoutedAgent({ name: 'routed', agents: [broken], router });
      const { say, stored } = await chat(routed);
      await expect(say('hi')).rejects.toThrow('no luck');
      expect(broken.runs).toBe(1);
      expect((await stored()).events).toHaveLength(1);
    }
  });

  it.each([
    ['another delivery of the run has taken over', 'aborted'],
    ['another process has seen a cancellation', 'cancelled'],
    ['another process has seen the deadline', 'deadline_exceeded'],
  ] as const)('does not continue after %s', async (_what, code) => {
    const two = await scripted('two', [{ text: 'never' }]);
    const over = new Broken('over', new MeshError(code, 'it is over'));
    const { say } = await chat(new RoutedAgent({ name: 'routed', agents: [over, two.agent] }));
    await expect(say('hi')).rejects.toMatchObject({ code });
    expect(two.requests).toHaveLength(0);
  });

  it('continues after crashes with the agent that was running', async () => {
    const one = await scripted('one', [down]);
    const broken = new Broken('broken', new Error('no luck'));
    const two = await scripted('two', [{ calls: [{ name: 'note', args: {} }] }, { text: 'done' }], {
      tools: [note()],
    });
    const end = await scripted('end', [{ text: 'end' }]);
    const agents = { one: one.agent, broken, two: two.agent, never: (await scripted('never', [])).agent };
    // After the last agent has started, only the log shows which agents failed.
    const router: AgentRouter = (_agents, _context, failure) => {
      if (two.requests.length > 0 || failure?.failedKeys.has('two')) return 'never';
      if (failure?.failedKeys.has('broken')) return 'two';
      return failure ? 'broken' : 'one';
    };
    const routed = new RoutedAgent({ name: 'routed', agents, router });
    const pipeline = new SequentialAgent({ name: 'pipeline', subAgents: [routed, end.agent] });
    expect((await runWithCrashes(pipeline)).map(brief)).toEqual([
      'one: fails 503',
      'broken: fails UNKNOWN_ERROR',
      'two: calls note',
      'two: gets {"ok":true}',
      'two: done',
      'end: end',
    ]);
    expect([one.requests.length, two.requests.length]).toEqual([1, 2]);
  });

  it('takes the answer to the agent that asked', async () => {
    // A tool that does its work once for each call id, also after a crash.
    class Approve extends LongRunningFunctionTool {
      override get isIdempotent() {
        return true;
      }
    }
    const approve = new Approve({ name: 'approve', description: 'asks', execute: () => undefined });
    const one = await scripted('one', [down]);
    const two = await scripted('two', [{ calls: [{ name: 'approve', args: {} }] }, { text: 'approved' }], {
      tools: [approve],
    });
    const agents = [one.agent, two.agent];
    const { say, answer } = await crashingChat(new RoutedAgent({ name: 'routed', agents }));
    const asked = await say('hi');
    const [id] = asked.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds);
    expect((await answer(id, { ok: true })).map(brief)).toEqual(['two: approved']);
    expect(one.requests).toHaveLength(1);
  });

  it('refuses a router that selects an unknown agent', async () => {
    const one = await scripted('one', [{ text: 'never' }]);
    const { say } = await chat(new RoutedAgent({ name: 'routed', agents: [one.agent], router: () => 'two' }));
    await expect(say('hi')).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/"two".*one/),
    });
    expect(() => new RoutedAgent({ name: 'routed', agents: [] })).toThrow(/nothing to choose from/);
  });
});
