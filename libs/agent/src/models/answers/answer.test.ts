import { expect, it } from 'vitest';
import type { LlmResponse } from '../../base/base-llm.ts';
import { LlmAgent } from '../../flow/llm-agent.ts';
import { brief, callsTo, chat, OwnLlm, says } from '../../harness.fixture.ts';
import { FunctionTool } from '../../tools/function-tool.ts';
import { readArgs } from './call-arguments.ts';

const partial = { partial: true, content: { role: 'model', parts: [{ text: 'half' }] } };

it.each<[string, LlmResponse[]]>([
  ['nothing', []],
  ['an empty response', [{}]],
  ['pieces alone', [partial]],
  ['a thought', [{ content: { role: 'model', parts: [{ text: 'hm', thought: true }] } }]],
  ['no parts', [{ content: { role: 'model' } }]],
])("a model of one's own that answers %s is asked once, and fails with a code", async (_what, responses) => {
  const model = new OwnLlm(() => responses);
  const { say, stored } = await chat(new LlmAgent({ name: 'root', model, outputKey: 'answer' }));
  expect((await say('hi')).map(brief).at(-1)).toBe('root: fails EMPTY_RESPONSE');
  expect(model.requests).toHaveLength(1);
  expect((await stored()).state).toEqual({});
});

it('a call that cannot be read is an error when the client makes the calls', async () => {
  const part = { functionCall: { name: 'f', args: readArgs('{"half":') } };
  const model = new OwnLlm(() => [{ content: { role: 'model', parts: [part] } }]);
  const tool = new FunctionTool({ name: 'f', description: 'f', execute: () => 'never' });
  const { say } = await chat(new LlmAgent({ name: 'root', model, tools: [tool] }));
  const [event] = await say('hi', { pauseOnToolCalls: true });
  expect(event).toMatchObject({ errorCode: 'MALFORMED_FUNCTION_CALL', longRunningToolIds: [] });
  expect(event?.content).toBeUndefined();
});

/** Makes an agent with the tools `f` and `g`, and notes the calls that are made. */
function agentWith(model: OwnLlm) {
  const made: string[] = [];
  const tool = (name: string) =>
    new FunctionTool({ name, description: name, execute: () => void made.push(name) });
  return { made, agent: new LlmAgent({ name: 'root', model, tools: [tool('f'), tool('g')] }) };
}

const withId = { content: { parts: [{ functionCall: { id: 'c', name: 'f', args: {} } }] } };

it.each<[string, LlmResponse[], string[], string[]]>([
  ['two calls', [callsTo('f'), callsTo('g')], ['f', 'g'], ['f', 'g']],
  ['a call and words', [callsTo('f'), says('wait')], ['f', 'wait'], ['f']],
  ['words and a call', [says('wait'), callsTo('f')], ['wait', 'f'], ['f']],
  ['a call and the usage', [callsTo('f'), { usageMetadata: { totalTokenCount: 7 } }], ['f'], ['f']],
  ['a call and nothing', [callsTo('f'), {}], ['f'], ['f']],
  ['a call twice, by its id', [withId, withId], ['f'], ['f']],
  [
    'a call before pieces',
    [callsTo('f'), { ...says('wa'), partial: true }, says('wait')],
    ['f', 'wait'],
    ['f'],
  ],
])('complete responses are one answer, whose calls are all made: %s', async (_, responses, parts, calls) => {
  const model = new OwnLlm((_request, n) => (n === 1 ? responses : [says('done')]));
  const { made, agent } = agentWith(model);
  const { say } = await chat(agent);
  const [answer, results, done, ...others] = (await say('go')).filter(({ partial }) => !partial);
  expect(answer?.content?.parts?.map(({ text, functionCall }) => text ?? functionCall?.name)).toEqual(parts);
  expect(results?.content?.parts?.map(({ functionResponse }) => functionResponse?.name)).toEqual(calls);
  expect([made, done && brief(done), others]).toEqual([calls, 'root: done', []]);
});

it.each<[string, LlmResponse[], string]>([
  ['an error behind it', [callsTo('f'), { errorCode: 'BROKEN' }], 'BROKEN'],
  ['a broken end', [{ ...callsTo('f'), finishReason: 'SAFETY' as never }, says('well')], 'SAFETY'],
  ['a question that only the framework asks', [callsTo('f', 'adk_request_input')], 'MALFORMED_FUNCTION_CALL'],
  ['a question alone', [callsTo('adk_request_confirmation')], 'MALFORMED_FUNCTION_CALL'],
])('a call that is not made is an error that says why: %s', async (_, responses, code) => {
  const { made, agent } = agentWith(new OwnLlm(() => responses));
  const events = await (await chat(agent)).say('go');
  expect(events).toMatchObject([{ errorCode: code, errorMessage: expect.any(String) }]);
  expect([events[0]?.content, made]).toEqual([undefined, []]);
});

it('a callback that replaces each piece leaves the answer one event', async () => {
  const pieces = [{ ...says('a'), partial: true }, says('a'), callsTo('f')];
  const model = new OwnLlm((_request, n) => (n === 1 ? pieces : [says('done')]));
  const { made, agent } = agentWith(model);
  agent.afterModelCallback = ({ response: { content } }) => (content ? { content } : undefined);
  const { say, stored } = await chat(agent);
  await say('go', { streamingMode: 'sse' });
  expect((await stored()).events.map(brief)).toEqual([
    'user: go',
    'root: a',
    'root: gets {"result":null}',
    'root: done',
  ]);
  expect(made).toEqual(['f']);
});

it('a callback that replaces the answer by a piece replaces it as a whole', async () => {
  const { agent } = agentWith(new OwnLlm(() => [says('never')]));
  agent.beforeModelCallback = () => ({ ...says('instead'), partial: true });
  const { say, stored } = await chat(agent);
  await say('go');
  expect((await stored()).events.map(brief)).toEqual(['user: go', 'root: instead']);
});
