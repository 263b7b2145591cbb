import { describe, expect, it } from 'vitest';
import { SlidingWindowContextCompactor } from '../compaction/compactors.ts';
import { logIndex } from '../events/log-index.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { chat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';

const answers = (count: number) => Array.from({ length: count }, (_, n) => ({ text: `answer ${n + 1}` }));

async function talk(model: Awaited<ReturnType<typeof scriptedModel>>, config: object = {}) {
  const conversation = await chat(new LlmAgent({ name: 'root', model: model.llm, ...config }));
  const { runner, say, stored } = conversation;
  const rewind = async (invocationId = '') => {
    const { id: sessionId } = await stored();
    await runner.rewindAsync({ userId: 'u', sessionId, rewindBeforeInvocationId: invocationId });
  };
  return { say, stored, rewind };
}

const lastShown = ({ requests }: Awaited<ReturnType<typeof scriptedModel>>) =>
  requests.at(-1)?.contents.flatMap(({ parts = [] }) => parts.map(({ text }) => text));

describe('a session that was rewound', () => {
  it.each([
    ['the whole conversation', {}],
    ['the turn alone', { includeContents: 'none' }],
  ])('continues without the rewound events: %s', async (_what, config) => {
    const model = await scriptedModel(...answers(4));
    const { say, rewind } = await talk(model, config);
    await say('question 1');
    const [second] = await say('question 2');
    await say('question 3');
    await rewind(second?.invocationId);
    await say('question 4');
    const past = Object.keys(config).length > 0 ? [] : ['question 1', 'answer 1'];
    expect(lastShown(model)).toEqual([...past, 'question 4']);
  });

  it('is rewound again, further back', async () => {
    const model = await scriptedModel(...answers(5));
    const { say, stored, rewind } = await talk(model);
    const [first] = await say('question 1');
    const [second] = await say('question 2');
    await rewind(second?.invocationId);
    await say('question 3');
    await rewind(first?.invocationId);
    await say('question 4');
    expect(lastShown(model)).toEqual(['question 4']);
    const { events } = await stored();
    expect(
      logIndex(events)
        .visible()
        .map(({ author }) => author),
    ).toEqual(['user', 'root']);
    await expect(rewind(second?.invocationId)).rejects.toThrow('has been rewound already');
  });

  it('has no pending question of the rewound part', async () => {
    const model = await scriptedModel({ calls: [{ name: 'pay', args: {} }] }, { text: 'hello' });
    const pay = new FunctionTool({
      name: 'pay',
      description: 'pays',
      requireConfirmation: true,
      execute: () => expect.fail('nobody confirmed it'),
    });
    const { say, stored, rewind } = await talk(model, { tools: [pay] });
    const [asked] = await say('pay');
    await rewind(asked?.invocationId);
    const events = await say('hi');
    expect(events.map(({ content }) => content?.parts?.[0]?.text)).toEqual(['hello']);
    expect([...logIndex((await stored()).events).openQuestions]).toEqual([]);
  });

  it('forgets the summaries of what was rewound', async () => {
    const model = await scriptedModel(...answers(4));
    let made = 0;
    const summarizer = {
      summarize: async () => {
        made += 1;
        return { compactedContent: `summary ${made}` };
      },
    };
    const contextCompactors = [new SlidingWindowContextCompactor({ compactionInterval: 2, summarizer })];
    const { say, rewind } = await talk(model, { contextCompactors });
    await say('question 1');
    const [second] = await say('question 2');
    await say('question 3');
    expect(lastShown(model)?.[0]).toContain('summary 1');
    await rewind(second?.invocationId);
    await say('question 4');
    expect(lastShown(model)).toEqual(['question 1', 'answer 1', 'question 4']);
  });
});
