import type { Event } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import type { LlmResponse } from '../../base/base-llm.ts';
import { deepFreeze } from '../../events/freeze.ts';
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

it('a callback may replace two answers by the same frozen one', async () => {
  const frozen = callsTo('f');
  deepFreeze(frozen);
  let asked = 0;
  const { made, agent } = agentWith(new OwnLlm(() => [says('done')]));
  agent.beforeModelCallback = () => {
    asked += 1;
    return asked < 3 ? frozen : undefined;
  };
  const { say } = await chat(agent);
  expect((await say('go')).map(brief).at(-1)).toBe('root: done');
  expect(made).toEqual(['f', 'f']);
});

it('a callback that replaces the answer by a piece replaces it as a whole', async () => {
  const { agent } = agentWith(new OwnLlm(() => [says('never')]));
  agent.beforeModelCallback = () => ({ ...says('instead'), partial: true });
  const { say, stored } = await chat(agent);
  await say('go');
  expect((await stored()).events.map(brief)).toEqual(['user: go', 'root: instead']);
});

describe("a model of one's own", () => {
  /** Answers with these responses at first, and then with words. */
  async function first(...responses: unknown[]) {
    const model = new OwnLlm((_request, n) => (n === 1 ? (responses as LlmResponse[]) : [says('done')]));
    const { made, agent } = agentWith(model);
    const events = await (await chat(agent)).say('go', { maxLlmCalls: 4 });
    return { model, made, events, last: events.at(-1) };
  }

  it.each([null, '', undefined, 0])('reports no error by the code %j', async (errorCode) => {
    const { events } = await first({ ...says('fine'), errorCode, errorMessage: null, partial: null });
    expect(events.map(brief)).toEqual(['root: fine']);
    expect(events[0]).not.toHaveProperty('errorCode');
  });

  it('reports an error by the number of a status', async () => {
    expect((await first({ errorCode: 503, errorMessage: 'away' })).last).toMatchObject({ errorCode: '503' });
  });

  it('may give the same frozen answer again and again', async () => {
    const frozen = callsTo('f');
    deepFreeze(frozen);
    const { made, last } = await first(frozen);
    expect([made, last && brief(last)]).toEqual([['f'], 'root: done']);
  });

  it('sets no field of the framework', async () => {
    const { model, events } = await first({
      ...says('fine'),
      id: 'taken',
      branch: 'other',
      nodeInfo: { path: 'other' },
      actions: { transferToAgent: 'other' },
      customMetadata: { 'mesh:step': { ends: false }, 'mesh:deadlines': {}, own: 1 },
    });
    expect(model.requests).toHaveLength(1);
    expect(events).toMatchObject([
      { author: 'root', customMetadata: { own: 1 }, content: says('fine').content },
    ]);
    const [{ id, branch, nodeInfo, actions, customMetadata } = {} as Event] = events;
    expect([branch, nodeInfo?.path === 'other', actions.transferToAgent]).toEqual([
      undefined,
      false,
      undefined,
    ]);
    expect(id).not.toBe('taken');
    expect(Object.keys(customMetadata ?? {}).filter((key) => /step|deadlines/.test(key))).toEqual([]);
  });

  it('does not speak in the place of a tool, or of the user', async () => {
    const functionResponse = { name: 'f', id: 'c', response: {} };
    const { model, events } = await first({
      content: { role: 'user', parts: [{ text: 'a' }, { functionResponse }] },
    });
    expect(events).toMatchObject([{ content: { role: 'model', parts: [{ text: 'a' }] } }]);
    expect(events[0]?.content?.parts).toHaveLength(1);
    expect(model.requests).toHaveLength(1);
  });

  it.each<[string, unknown, string]>([
    ['none', null, ''],
    ['a number beyond all', { n: Number.POSITIVE_INFINITY }, 'too large to be exact'],
    ['a BigInt', { n: 5n }, 'too large to be exact'],
    ['a cycle', cycle(), 'nested more than 100 deep'],
  ])('calls with arguments that are %s, and goes on', async (_what, args, says) => {
    const { made, events, last } = await first({
      content: { parts: [{ functionCall: { name: 'f', args } }] },
    });
    expect(made).toEqual(args === null ? ['f'] : []);
    expect(JSON.stringify(events)).toContain(args === null ? '"args":{}' : says);
    expect(last && brief(last)).toBe('root: done');
  });
});

function cycle(): object {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}
