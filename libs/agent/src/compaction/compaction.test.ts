import type { Event } from '@agentmesh/protocol';
import type { RecordedRequest } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { BasePlugin } from '../base/base-plugin.ts';
import type { BaseSummarizer } from '../base/context-compactor.ts';
import { isFinalResponse } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { chat, crashingChat, scriptedModel } from '../harness.fixture.ts';
import { Runner } from '../runner/runner.ts';
import { FunctionTool, LongRunningFunctionTool } from '../tools/function-tool.ts';
import {
  SlidingWindowContextCompactor,
  TokenBasedContextCompactor,
  TruncatingContextCompactor,
} from './compactors.ts';
import { compactorsOf } from './events-compaction-config.ts';
import { LlmSummarizer, toLines } from './summarizer.ts';

/** A summarizer that numbers its summaries and records their events. */
class NotingSummarizer implements BaseSummarizer {
  readonly asked: string[][] = [];

  async summarize(events: readonly Event[]): Promise<{ compactedContent: string }> {
    this.asked.push(events.flatMap(toLines));
    return { compactedContent: `summary ${this.asked.length}` };
  }
}

const answers = (count: number) => Array.from({ length: count }, (_, n) => ({ text: `answer ${n + 1}` }));

/** Returns the prompt of a request, a line for each part. */
function promptLines({ contents }: Pick<RecordedRequest, 'contents'>): string[] {
  return contents.flatMap(({ parts = [] }) =>
    parts.map(({ text, functionCall, functionResponse }) =>
      functionCall
        ? `calls ${functionCall.name}`
        : functionResponse
          ? `gets ${JSON.stringify(functionResponse.response)}`
          : (text ?? ''),
    ),
  );
}

const told = (n: number) => `Summary of the conversation before:\nsummary ${n}`;

describe('a prompt that is kept short', () => {
  it('tells plugins before and after a summary is made', async () => {
    const { llm } = await scriptedModel(...answers(3));
    const calls: string[] = [];
    class Witness extends BasePlugin {
      override async beforeContextCompaction({ trigger }: { trigger: string }): Promise<void> {
        calls.push(`before ${trigger}`);
      }
      override async afterContextCompaction(): Promise<void> {
        calls.push('after');
      }
    }
    const summarizer = new NotingSummarizer();
    const contextCompactors = [new SlidingWindowContextCompactor({ compactionInterval: 2, summarizer })];
    const agent = new LlmAgent({ name: 'root', model: llm, contextCompactors });
    const { say } = await chat(agent, {}, { plugins: [new Witness('witness')] });
    await say('one');
    await say('two');
    expect(calls).toEqual([]);
    await say('three');
    expect(calls).toEqual(['before Auto', 'after']);
  });

  it('is summarized after a number of invocations, each summary covering the previous one', async () => {
    const { llm, requests } = await scriptedModel(...answers(5));
    const summarizer = new NotingSummarizer();
    const agent = new LlmAgent({
      name: 'root',
      model: llm,
      contextCompactors: [new SlidingWindowContextCompactor({ compactionInterval: 2, summarizer })],
    });
    const { say, stored } = await chat(agent);
    for (let n = 1; n <= 5; n += 1) await say(`question ${n}`);
    expect(requests.map(promptLines).slice(2)).toEqual([
      [told(1), 'question 3'],
      [told(1), 'question 3', 'answer 3', 'question 4'],
      [told(2), 'question 5'],
    ]);
    expect(summarizer.asked).toEqual([
      ['user: question 1', 'root: answer 1', 'user: question 2', 'root: answer 2'],
      ['summary: summary 1', 'user: question 3', 'root: answer 3', 'user: question 4', 'root: answer 4'],
    ]);
    // The log still holds all events, and the summaries.
    const { events } = await stored();
    expect(events).toHaveLength(12);
    const [first] = events.filter(({ actions }) => actions.compaction);
    expect(first?.actions.compaction).toMatchObject({
      throughSeq: 4,
      compactedContent: 'summary 1',
      agent: 'root',
    });
    expect(first && isFinalResponse(first)).toBe(false);
  });

  it('keeps the newest invocations unchanged, and covers them in the next summary', async () => {
    const { llm, requests } = await scriptedModel(...answers(4));
    const summarizer = new NotingSummarizer();
    const compactor = new SlidingWindowContextCompactor({
      compactionInterval: 2,
      overlapSize: 1,
      summarizer,
    });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, contextCompactors: [compactor] }));
    for (let n = 1; n <= 4; n += 1) await say(`question ${n}`);
    expect(promptLines(requests.at(-1) ?? expect.fail())).toEqual([
      told(1),
      'question 3',
      'answer 3',
      'question 4',
    ]);
  });

  it('is summarized above a number of counted tokens, except for the last events', async () => {
    const { llm, requests } = await scriptedModel(
      { text: 'answer 1', usage: { promptTokenCount: 90 } },
      { text: 'answer 2', usage: { promptTokenCount: 101 } },
      { text: 'answer 3', usage: { promptTokenCount: 50 } },
      { text: 'answer 4' },
    );
    const summarizer = new NotingSummarizer();
    const compactor = new TokenBasedContextCompactor({
      tokenThreshold: 100,
      eventRetentionSize: 2,
      summarizer,
    });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, contextCompactors: [compactor] }));
    for (let n = 1; n <= 4; n += 1) await say(`question ${n}`);
    expect(requests.map(promptLines).slice(2)).toEqual([
      [told(1), 'answer 2', 'question 3'],
      [told(1), 'answer 2', 'question 3', 'answer 3', 'question 4'],
    ]);
  });

  it('guesses the tokens of a model that counts none', async () => {
    const { llm, requests } = await scriptedModel(...answers(2).map((reply) => ({ ...reply, usage: {} })));
    const summarizer = new NotingSummarizer();
    const compactor = new TokenBasedContextCompactor({
      tokenThreshold: 100,
      eventRetentionSize: 1,
      summarizer,
    });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, contextCompactors: [compactor] }));
    await say('x'.repeat(500));
    await say('short');
    expect(promptLines(requests[1] ?? expect.fail())).toEqual([told(1), 'short']);
  });

  it('is cut to the last events, and never loses the question or the call of a result', async () => {
    const { llm, requests } = await scriptedModel(
      ...answers(2),
      { calls: [{ name: 'look', args: {} }] },
      { calls: [{ name: 'look', args: {} }] },
      { text: 'seen' },
    );
    const look = new FunctionTool({ name: 'look', description: 'looks', execute: () => ({ seen: 1 }) });
    const contextCompactors = [new TruncatingContextCompactor({ threshold: 1 })];
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [look], contextCompactors }));
    for (let n = 1; n <= 3; n += 1) await say(`question ${n}`);
    expect(requests.map(promptLines)).toEqual([
      ['question 1'],
      ['question 2'],
      ['question 3'],
      ['question 3', 'calls look', 'gets {"seen":1}'],
      ['question 3', 'calls look', 'gets {"seen":1}'],
    ]);
  });

  it('keeps the first events with preserveLeadingEvents', async () => {
    const { llm, requests } = await scriptedModel(...answers(4));
    const contextCompactors = [new TruncatingContextCompactor({ threshold: 2, preserveLeadingEvents: 1 })];
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, contextCompactors }));
    for (let n = 1; n <= 4; n += 1) await say(`question ${n}`);
    expect(promptLines(requests[3] ?? expect.fail())).toEqual(['question 1', 'answer 3', 'question 4']);
  });

  it('has the call whose late result comes after it was summarized', async () => {
    const { llm, requests } = await scriptedModel(
      { calls: [{ name: 'order', args: {} }] },
      { text: 'ordered' },
      { text: 'hello' },
      { text: 'it has come' },
    );
    const order = new LongRunningFunctionTool({
      name: 'order',
      description: 'orders',
      execute: () => ({ status: 'pending' }),
    });
    const compactor = new SlidingWindowContextCompactor({
      compactionInterval: 1,
      summarizer: new NotingSummarizer(),
    });
    const agent = new LlmAgent({ name: 'root', model: llm, tools: [order], contextCompactors: [compactor] });
    const { say, answer } = await chat(agent);
    const [call] = await say('order');
    await say('hi');
    await answer(call?.longRunningToolIds?.[0], { status: 'there' });
    expect(promptLines(requests.at(-1) ?? expect.fail())).toEqual([
      expect.stringContaining('summary'),
      'calls order',
      'gets {"status":"there"}',
    ]);
  });

  it('is set for each agent, or by the app for the others', async () => {
    const { llm, requests } = await scriptedModel(...answers(3));
    const summarizer = new NotingSummarizer();
    const root = new LlmAgent({ name: 'root', model: llm });
    const config = { eventsCompactionConfig: { summarizer, compactionInterval: 1 } };
    const { say, stored } = await chat(root, undefined, config);
    await say('question 1');
    await say('question 2');
    expect(promptLines(requests[1] ?? expect.fail())).toEqual([told(1), 'question 2']);
    const { events } = await stored();
    expect(events.find(({ actions }) => actions.compaction)?.actions.compaction).not.toHaveProperty('agent');
  });

  it('is whole again for an agent that does not want it short', async () => {
    const { llm, requests } = await scriptedModel(...answers(3));
    const summarizer = new NotingSummarizer();
    const compactor = new SlidingWindowContextCompactor({ compactionInterval: 1, summarizer });
    const short = await chat(new LlmAgent({ name: 'root', model: llm, contextCompactors: [compactor] }));
    await short.say('question 1');
    await short.say('question 2');
    const { id } = await short.stored();
    const { sessionService } = short.runner;
    const agent = new LlmAgent({ name: 'root', model: llm, contextCompactors: [] });
    const runner = new Runner({ appName: 'app', agent, sessionService });
    const newMessage = { role: 'user', parts: [{ text: 'question 3' }] };
    await Array.fromAsync(runner.runAsync({ userId: 'u', sessionId: id, newMessage }));
    expect(promptLines(requests[2] ?? expect.fail())).toEqual([
      'question 1',
      'answer 1',
      'question 2',
      'answer 2',
      'question 3',
    ]);
  });

  it('is built without a summary that fails, and the next turn tries again', async () => {
    const { llm, requests } = await scriptedModel(
      { text: 'answer 1' },
      { error: { status: 503, message: 'overloaded' } },
      { text: 'answer 2' },
      { text: 'the gist' },
      { text: 'answer 3' },
    );
    const summarizer = new LlmSummarizer({ llm });
    const compactor = new SlidingWindowContextCompactor({ compactionInterval: 1, summarizer });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, contextCompactors: [compactor] }));
    for (let n = 1; n <= 3; n += 1) await say(`question ${n}`);
    expect(promptLines(requests[2] ?? expect.fail())).toEqual(['question 1', 'answer 1', 'question 2']);
    expect(promptLines(requests[3] ?? expect.fail())).toEqual([
      'user: question 1\nroot: answer 1\nuser: question 2\nroot: answer 2',
    ]);
    expect(promptLines(requests[4] ?? expect.fail())).toEqual([
      'Summary of the conversation before:\nthe gist',
      'question 3',
    ]);
  });

  it('is summarized once, whenever a process dies', async () => {
    const { llm } = await scriptedModel(...answers(3));
    const summarizer = new NotingSummarizer();
    const compactor = new SlidingWindowContextCompactor({ compactionInterval: 1, summarizer });
    const { say } = await crashingChat(
      new LlmAgent({ name: 'root', model: llm, contextCompactors: [compactor] }),
    );
    await say('question 1');
    const events = await say('question 2');
    expect(events.filter(({ actions }) => actions.compaction)).toHaveLength(1);
    expect(summarizer.asked).toHaveLength(1);
  });

  it("is summarized by the agent's own model by default", async () => {
    const { llm, requests } = await scriptedModel(
      { text: 'answer 1' },
      { text: 'the gist' },
      { text: 'answer 2' },
    );
    const config = { eventsCompactionConfig: { compactionInterval: 1 } };
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm }), undefined, config);
    await say('question 1');
    await say('question 2');
    expect(promptLines(requests[2] ?? expect.fail())).toEqual([
      'Summary of the conversation before:\nthe gist',
      'question 2',
    ]);
  });

  it("refuses a compactor of ADK's kind, and an empty configuration", () => {
    const compactor = { shouldCompact: () => true, compact: () => {} } as never;
    expect(() => new LlmAgent({ name: 'root', contextCompactors: [compactor] })).toThrow(/toSummarize/);
    expect(() => compactorsOf({})).toThrow(/compactionInterval or a tokenThreshold/);
    expect(() => new LlmSummarizer()).toThrow(/needs a model/);
  });

  it.each([
    () => new TruncatingContextCompactor({ threshold: 0 }),
    () => new TruncatingContextCompactor({ threshold: 2, preserveLeadingEvents: -1 }),
    () => new SlidingWindowContextCompactor({ compactionInterval: 0.5, summarizer: new NotingSummarizer() }),
    () =>
      new TokenBasedContextCompactor({
        tokenThreshold: 1,
        eventRetentionSize: -1,
        summarizer: new NotingSummarizer(),
      }),
  ])('refuses invalid numbers', (make) => {
    expect(make).toThrow(/must be/);
  });
});
