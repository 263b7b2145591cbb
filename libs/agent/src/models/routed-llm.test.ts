import { describe, expect, it, vi } from 'vitest';
import { BaseLlm, type LlmRequest } from '../base/base-llm.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, OwnLlm, says, scriptedModel } from '../harness.fixture.ts';
import { type LlmRouter, RoutedLlm } from './routed-llm.ts';

const down = { error: { status: 503, message: 'away' } };

async function answers(llm: RoutedLlm, streamingMode: 'none' | 'sse' = 'none') {
  const { say } = await chat(new LlmAgent({ name: 'root', model: llm }));
  return (await say('hi', { streamingMode })).map(brief);
}

describe('several models as one', () => {
  it('get the same conversation, whatever a model does with its own', async () => {
    const first = new OwnLlm((request) => {
      request.contents.length = 0;
      request.config.systemInstruction = 'forget all';
      throw new Error('away');
    });
    const spare = new OwnLlm(({ contents, config }) => [
      says(JSON.stringify([contents, config.systemInstruction])),
    ]);
    expect(await answers(new RoutedLlm({ models: { first, spare } }))).toEqual([
      expect.stringMatching(/^root: .*"hi".*\]/),
    ]);
    expect(spare.requests[0]?.config.systemInstruction).not.toBe('forget all');
  });

  it.each(['none', 'sse'] as const)(
    'go on with the next when one fails before its first word (ADK defect B24); streaming: %s',
    async (streamingMode) => {
      const bad = await scriptedModel(down);
      const good = await scriptedModel({ text: 'here' });
      const llm = new RoutedLlm({ models: { bad: bad.llm, good: good.llm } });
      expect((await answers(llm, streamingMode)).at(-1)).toBe('root: here');
    },
  );

  it('fail with the last error when all fail, and never try one twice', async () => {
    const bad = await scriptedModel(down);
    const llm = new RoutedLlm({ models: { bad: bad.llm }, router: () => 'bad' });
    expect(await answers(llm)).toEqual(['root: fails 503']);
    expect(bad.requests).toHaveLength(1);
  });

  it('are selected by a router that sees the request and the failures', async () => {
    const [one, two, three] = [
      await scriptedModel(down),
      await scriptedModel(down),
      await scriptedModel({ text: '3' }),
    ];
    const router = vi.fn<LlmRouter>((_models, _request, failure) =>
      failure ? (failure.failedKeys.size === 1 ? 'two' : 'three') : 'one',
    );
    const models = { three: three.llm, two: two.llm, one: one.llm };
    expect(await answers(new RoutedLlm({ models, router }))).toEqual(['root: 3']);
    expect(router.mock.calls).toEqual([
      [models, expect.objectContaining({ contents: expect.anything() }), undefined],
      [models, expect.anything(), { failedKeys: new Set(['one', 'two']), lastError: expect.anything() }],
      [models, expect.anything(), { failedKeys: new Set(['one', 'two']), lastError: expect.anything() }],
    ]);
    expect(router.mock.lastCall?.[2]?.lastError).toMatchObject({ status: 503 });
  });

  it('do not change after the first word', async () => {
    const bad = await scriptedModel({ text: 'one two', cutAfter: 1 });
    const good = await scriptedModel({ text: 'never' });
    const llm = new RoutedLlm({ models: { bad: bad.llm, good: good.llm } });
    expect(await answers(llm, 'sse')).toEqual(['root: one', 'root: fails unavailable']);
    expect(good.requests).toHaveLength(0);
  });

  it('do not change when the run is aborted', async () => {
    const aborted = new AbortController();
    class Aborting extends BaseLlm {
      // biome-ignore lint/correctness/useYield: it fails
      override async *generateContentAsync(): AsyncGenerator<never, void, void> {
        aborted.abort(new Error('enough'));
        throw new Error('cut');
      }
    }
    const good = await scriptedModel({ text: 'never' });
    const llm = new RoutedLlm({ models: [new Aborting({ model: 'bad' }), good.llm] });
    const request: LlmRequest = { model: '', contents: [], config: {}, toolsDict: {} };
    const asked = Array.fromAsync(llm.generateContentAsync(request, false, aborted.signal));
    await expect(asked).rejects.toThrow('enough');
    expect(good.requests).toHaveLength(0);
  });

  it.each([
    ['what there is not', () => 'nobody', /"nobody".*it may choose gemini-test/],
    ['nothing', () => undefined, /nothing.*it may choose gemini-test/],
    ['what all objects have', () => 'toString', /"toString"/],
  ])('report a router that selects %s', async (_what, router, words) => {
    const { llm } = await scriptedModel({ text: 'never' });
    const { say } = await chat(
      new LlmAgent({ name: 'root', model: new RoutedLlm({ models: [llm], router }) }),
    );
    expect((await say('hi'))[0]).toMatchObject({
      errorCode: 'invalid_argument',
      errorMessage: expect.stringMatching(words),
    });
  });

  it('needs at least one model', () => {
    expect(() => new RoutedLlm({ models: {} })).toThrow(/nothing to choose from/);
  });
});
