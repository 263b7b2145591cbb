import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { Type } from '@google/genai';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type LlmRequest, type LlmResponse, lendContents, readContents } from '../base/base-llm.ts';
import { BuiltInCodeExecutor } from '../code-executors/built-in-code-executor.ts';
import { deepFreeze } from '../events/freeze.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { OpenAiLlm } from './openai.ts';

interface Body {
  messages: { role: string; content: string | null; tool_calls?: { id: string }[]; tool_call_id?: string }[];
  tools?: { function: { name: string; parameters: object } }[];
  stream?: boolean;
}

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Starts a server of the chat completions interface. Each answer is a message, its chunks, or a status. */
async function scripted(...answers: (object | object[] | number)[]) {
  const bodies: Body[] = [];
  server = createServer(async (request, response) => {
    bodies.push((await json(request)) as Body);
    const answer = answers.shift() ?? 500;
    if (typeof answer === 'number') {
      response.writeHead(answer, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}');
    } else if (Array.isArray(answer)) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const chunk of answer)
        response.write(`data: ${JSON.stringify({ model: 'm', choices: [], ...chunk })}\n\n`);
      response.end('data: [DONE]\n\n');
    } else {
      const reason = 'tool_calls' in answer ? 'tool_calls' : 'stop';
      const choices = [
        { index: 0, finish_reason: reason, message: { role: 'assistant', content: null, ...answer } },
      ];
      const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ model: 'm', choices, usage }));
    }
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server?.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const client = { maxRetries: 0 };
  return {
    llm: new OpenAiLlm({ model: 'm', apiKey: 'k', baseUrl: `http://127.0.0.1:${port}/v1`, client }),
    bodies,
  };
}

const request: LlmRequest = {
  model: 'm',
  contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
  config: {},
  toolsDict: {},
};
const call = (name: string, args: object) => ({
  tool_calls: [{ id: 'c1', type: 'function', function: { name, arguments: JSON.stringify(args) } }],
});

describe('a model behind the chat completions interface', () => {
  it('changes nothing in the contents, which may belong to a log', async () => {
    const { llm, bodies } = await scripted({ content: 'hello' });
    const contents = [
      { role: 'user', parts: [{ text: 'hi' }] },
      { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'f', args: { a: [1] } } }] },
      { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'f', response: { b: 2 } } }] },
    ];
    deepFreeze(contents);
    const lent = lendContents({ model: 'm', config: {}, toolsDict: {} }, contents);
    await Array.fromAsync(llm.generateContentAsync(lent));
    expect(readContents(lent)).toBe(contents);
    expect(bodies[0]?.messages).toHaveLength(3);
  });

  it('drives an agent: calls, answers, instruction and schemas in its own spelling', async () => {
    const { llm, bodies } = await scripted(call('add', { a: 1, b: 2 }), { content: 'three' });
    const add = new FunctionTool({
      name: 'add',
      description: 'Adds.',
      parameters: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }) => a + b,
    });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, instruction: 'Add.', tools: [add] }));
    expect((await say('1 + 2?')).map(brief)).toEqual([
      'root: calls add',
      'root: gets {"result":3}',
      'root: three',
    ]);
    expect(bodies[0]?.tools?.[0]?.function).toMatchObject({
      name: 'add',
      parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a', 'b'] },
    });
    expect(bodies[1]?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    const [, , asked, answered] = bodies[1]?.messages ?? [];
    expect(answered?.tool_call_id).toBe(asked?.tool_calls?.[0]?.id);
    expect(answered?.content).toBe('{"result":3}');
  });

  it('streams words as they come and puts calls together from their pieces', async () => {
    const delta = (fields: object, reason: string | null = null) => ({
      choices: [{ delta: fields, finish_reason: reason }],
    });
    const piece = (text: string, more = {}) => ({
      tool_calls: [{ index: 0, ...more, function: { ...more, arguments: text } }],
    });
    const { llm } = await scripted([
      delta({ content: 'let me ' }),
      delta({ content: 'see' }),
      delta(piece('{"ci', { id: 'c1', name: 'weather' })),
      delta(piece('ty":"Oslo"}')),
      delta({}, 'tool_calls'),
      { usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
    ]);
    const responses: LlmResponse[] = await Array.fromAsync(llm.generateContentAsync(request, true));
    expect(
      responses.filter(({ partial }) => partial).map(({ content }) => content?.parts?.[0]?.text),
    ).toEqual(['let me ', 'see']);
    expect(responses.at(-1)).toMatchObject({
      content: {
        parts: [
          { text: 'let me see' },
          { functionCall: { id: 'c1', name: 'weather', args: { city: 'Oslo' } } },
        ],
      },
      usageMetadata: { totalTokenCount: 3 },
      finishReason: 'STOP',
    });
  });

  it('marks arguments that are no JSON, so that the call is answered and never made', async () => {
    const { llm } = await scripted({
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{oops' } }],
    });
    const [response] = await Array.fromAsync(llm.generateContentAsync(request));
    expect(response?.content?.parts?.[0]?.functionCall?.args).toEqual({
      malformed_arguments: '{oops',
      problem: expect.stringContaining('not JSON'),
    });
  });

  it('refuses a tool that its interface lacks', async () => {
    const { llm, bodies } = await scripted({ content: 'never' });
    const agent = new LlmAgent({ name: 'root', model: llm, codeExecutor: new BuiltInCodeExecutor() });
    expect((await (await chat(agent)).say('hi'))[0]).toMatchObject({
      errorCode: 'invalid_argument',
      errorMessage: expect.stringContaining('codeExecution'),
    });
    expect(bodies).toEqual([]);
  });

  it('fails with the status of its server', async () => {
    const { llm } = await scripted(429);
    await expect(Array.fromAsync(llm.generateContentAsync(request))).rejects.toMatchObject({ status: 429 });
  });

  it('turns nullable and sized schemas into JSON Schema', async () => {
    const { toJsonSchema } = await import('./chat/openai-messages.ts');
    expect(
      toJsonSchema({ type: Type.ARRAY, minItems: '1', items: { type: Type.STRING, nullable: true } }),
    ).toEqual({
      type: 'array',
      minItems: 1,
      items: { type: ['string', 'null'] },
    });
  });
});
