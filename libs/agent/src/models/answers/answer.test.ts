import { expect, it } from 'vitest';
import type { LlmResponse } from '../../base/base-llm.ts';
import { BaseLlm } from '../../base/base-llm.ts';
import { LlmAgent } from '../../flow/llm-agent.ts';
import { brief, chat } from '../../harness.fixture.ts';
import { FunctionTool } from '../../tools/function-tool.ts';
import { readArgs } from './call-arguments.ts';

/** A model of one's own that answers one call with these responses. */
class OwnLlm extends BaseLlm {
  calls = 0;
  readonly #responses: LlmResponse[];

  constructor(responses: LlmResponse[]) {
    super({ model: 'own' });
    this.#responses = responses;
  }

  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    this.calls += 1;
    yield* this.#responses;
  }
}

const partial = { partial: true, content: { role: 'model', parts: [{ text: 'half' }] } };

it.each<[string, LlmResponse[]]>([
  ['nothing', []],
  ['an empty response', [{}]],
  ['pieces alone', [partial]],
  ['a thought', [{ content: { role: 'model', parts: [{ text: 'hm', thought: true }] } }]],
  ['no parts', [{ content: { role: 'model' } }]],
])("a model of one's own that answers %s is asked once, and fails with a code", async (_what, responses) => {
  const model = new OwnLlm(responses);
  const { say, stored } = await chat(new LlmAgent({ name: 'root', model, outputKey: 'answer' }));
  expect((await say('hi')).map(brief).at(-1)).toBe('root: fails EMPTY_RESPONSE');
  expect(model.calls).toBe(1);
  expect((await stored()).state).toEqual({});
});

it('a call that cannot be read is an error when the client makes the calls', async () => {
  const part = { functionCall: { name: 'f', args: readArgs('{"half":') } };
  const model = new OwnLlm([{ content: { role: 'model', parts: [part] } }]);
  const tool = new FunctionTool({ name: 'f', description: 'f', execute: () => 'never' });
  const { say } = await chat(new LlmAgent({ name: 'root', model, tools: [tool] }));
  const [event] = await say('hi', { pauseOnToolCalls: true });
  expect(event).toMatchObject({ errorCode: 'MALFORMED_FUNCTION_CALL', longRunningToolIds: [] });
  expect(event?.content).toBeUndefined();
});
