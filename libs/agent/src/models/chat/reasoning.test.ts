import { chatText, type RudeServer, startRudeServer } from '@agentmesh/testing';
import { expect, it, onTestFinished } from 'vitest';
import { LlmAgent } from '../../flow/llm-agent.ts';
import { chat } from '../../harness.fixture.ts';
import { FunctionTool } from '../../tools/function-tool.ts';
import { Gemini } from '../gemini.ts';
import { OpenAiLlm } from '../openai.ts';

const call = { id: 'c1', type: 'function', function: { name: 'now', arguments: '{}' } };

/** Starts a server whose first answer is a call after a thought. */
async function thinking(fields: object): Promise<RudeServer> {
  const server = await startRudeServer(({ call: number, isStream }) => {
    if (number > 1) return chatText('noon', isStream);
    const message = { role: 'assistant', content: null, tool_calls: [call], ...fields };
    const body = JSON.stringify({ model: 'm', choices: [{ message, finish_reason: 'tool_calls' }] });
    return { headers: { 'content-type': 'application/json' }, body };
  });
  onTestFinished(() => server.close());
  return server;
}

const now = new FunctionTool({ name: 'now', description: 'tells', execute: () => 'noon' });

it.each([
  { reasoning_content: 'They want the time.' },
  { reasoning: 'They want the time.', reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] },
])('gives thoughts back to a server as they came: %o', async (fields) => {
  const server = await thinking(fields);
  const model = new OpenAiLlm({ model: 'm', apiKey: 'k', baseUrl: `${server.url}/v1` });
  const { say } = await chat(new LlmAgent({ name: 'root', model, tools: [now] }));
  for (const streamingMode of ['none', 'sse'] as const) await say('what time is it?', { streamingMode });
  expect(server.requests).toHaveLength(3);
  for (const { body } of server.requests.slice(1))
    expect((body.messages as object[])[1]).toEqual({
      role: 'assistant',
      content: null,
      ...fields,
      tool_calls: [{ ...call, id: expect.any(String) }],
    });
});

it("gives Gemini's signature behind this interface back with its call", async () => {
  const signed = { ...call, extra_content: { google: { thought_signature: 'c2ln' } } };
  const server = await thinking({ tool_calls: [signed] });
  const model = new OpenAiLlm({ model: 'm', apiKey: 'k', baseUrl: `${server.url}/v1` });
  const { say } = await chat(new LlmAgent({ name: 'root', model, tools: [now] }));
  await say('what time is it?');
  expect(server.requests[1]?.body.messages).toMatchObject([
    { role: 'user' },
    { tool_calls: [{ ...signed, id: expect.any(String) }] },
    { role: 'tool' },
  ]);
});

it('keeps the thoughts of one provider from the servers of another', async () => {
  const fields = { reasoning_content: 'They want the time.' };
  const server = await thinking(fields);
  const model = new OpenAiLlm({ model: 'm', apiKey: 'k', baseUrl: `${server.url}/v1` });
  const agent = new LlmAgent({ name: 'root', model, tools: [now] });
  const { say } = await chat(agent);
  await say('what time is it?');
  agent.model = new Gemini({ model: 'gemini-x', apiKey: 'k', baseUrl: server.url });
  await say('and now?');
  expect(JSON.stringify(server.requests.at(-1)?.body)).toContain('They want the time.');
  expect(JSON.stringify(server.requests.at(-1)?.body)).not.toContain('artMetadata');
});
