import { ApiError, type Content, GoogleGenAI, Type } from '@google/genai';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../processes/wait.ts';
import { latestFunctionResponses, latestUserText } from './gemini-request.ts';
import { type ModelScript, sequence, startScriptedGemini } from './scripted-gemini.ts';

const model = 'gemini-2.5-flash';

async function scripted(script: ModelScript) {
  const server = await startScriptedGemini({ script });
  onTestFinished(() => server.close());
  return { server, models: new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: server.url } }).models };
}

test('answers a text, and passes the request to the script', async () => {
  const { models, server } = await scripted((request) => ({ text: `You said: ${latestUserText(request)}` }));
  const declaration = {
    name: 'price',
    parameters: { type: Type.OBJECT, properties: { of: { type: Type.STRING } } },
  };
  const config = {
    systemInstruction: 'Be brief.',
    temperature: 0.5,
    tools: [{ functionDeclarations: [declaration] }, { functionDeclarations: [{ name: 'other' }] }],
  };
  const response = await models.generateContent({ model, contents: 'hello', config });
  expect(response.text).toBe('You said: hello');
  expect(response.candidates?.[0]?.finishReason).toBe('STOP');
  expect(response.usageMetadata?.totalTokenCount).toBeGreaterThan(0);
  expect(server.requests).toMatchObject([
    {
      model,
      call: 1,
      streaming: false,
      systemInstruction: 'Be brief.',
      generationConfig: { temperature: 0.5 },
      tools: [declaration, { name: 'other' }],
      headers: { 'x-goog-api-key': 'key' },
      aborted: false,
    },
  ]);
});

test('streams a text word by word or in the given pieces, and puts the finish reason into the last', async () => {
  const { models } = await scripted(
    sequence(
      { text: ' two  words ' },
      { text: 'ab', chunks: ['a', 'b'], finishReason: 'MAX_TOKENS' },
      { text: '' },
    ),
  );
  const ask = async () => {
    const chunks = [];
    for await (const chunk of await models.generateContentStream({ model, contents: 'x' }))
      chunks.push(chunk);
    return chunks.map((chunk) => [chunk.text, chunk.candidates?.[0]?.finishReason, !!chunk.usageMetadata]);
  };
  expect(await ask()).toEqual([
    [' two', undefined, false],
    ['  words ', 'STOP', true],
  ]);
  expect(await ask()).toEqual([
    ['a', undefined, false],
    ['b', 'MAX_TOKENS', true],
  ]);
  expect(await ask()).toEqual([[undefined, 'STOP', true]]);
});

test('calls functions, streamed in one piece after the text', async () => {
  const calls = [{ name: 'price', args: { of: 'GOOG' }, id: 'c1' }, { name: 'now' }];
  const { models } = await scripted(() => ({ calls, text: 'Let me see' }));
  const unary = await models.generateContent({ model, contents: 'x' });
  expect(unary.functionCalls).toEqual([calls[0], { name: 'now', args: {} }]);
  const chunks = [];
  for await (const chunk of await models.generateContentStream({ model, contents: 'x' })) chunks.push(chunk);
  expect(chunks.map((chunk) => chunk.functionCalls?.length ?? 0)).toEqual([0, 0, 0, 2]);
});

test('reads the function responses that end a request', async () => {
  const { models, server } = await scripted(() => ({
    parts: [{ text: 'hm', thought: true }, { text: 'done' }],
  }));
  const contents: Content[] = [
    { role: 'user', parts: [{ text: 'what is it?' }] },
    { role: 'model', parts: [{ functionCall: { name: 'a', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'a', response: { n: 1 } } }] },
  ];
  expect((await models.generateContent({ model, contents })).text).toBe('done');
  await models.generateContent({ model, contents: contents.slice(0, 2) });
  const [answered, open] = server.requests;
  expect(answered && latestFunctionResponses(answered)).toEqual([{ name: 'a', response: { n: 1 } }]);
  expect(answered && latestUserText(answered)).toBe('what is it?');
  expect(open && latestFunctionResponses(open)).toEqual([]);
});

test.each([429, 503])('fails with status %i, streaming or not', async (status) => {
  const { models } = await scripted(() => ({ error: { status, message: 'try later' } }));
  for (const method of ['generateContent', 'generateContentStream'] as const) {
    const error = await models[method]({ model, contents: 'x' }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status, message: expect.stringContaining('try later') });
  }
});

test('fails when a sequence is exhausted or the script throws', async () => {
  const { models } = await scripted(
    sequence(() => {
      throw new Error('unforeseen');
    }),
  );
  await expect(models.generateContent({ model, contents: 'x' })).rejects.toThrow(
    'the script failed: unforeseen',
  );
  await expect(models.generateContent({ model, contents: 'x' })).rejects.toThrow(
    '1 replies and this is request 2',
  );
});

test.each([{ hang: true } as const, { text: 'late', delayMs: 60_000 }])(
  'can be aborted while %o',
  async (reply) => {
    const { models, server } = await scripted(() => reply);
    const controller = new AbortController();
    const call = models.generateContent({ model, contents: 'x', config: { abortSignal: controller.signal } });
    const failed = expect(call).rejects.toThrow(/abort/i);
    await until(() => server.requests.length === 1);
    controller.abort();
    await failed;
    await until(() => server.requests[0]?.aborted, { what: 'the server to notice' });
  },
);

test('cuts a stream like a broken network', async () => {
  const { models } = await scripted(() => ({ text: 'one two three', cutAfter: 1 }));
  const read = async () => {
    for await (const _ of await models.generateContentStream({ model, contents: 'x' }));
  };
  await expect(read()).rejects.toThrow();
});

test('answers many concurrent requests', async () => {
  const { models, server } = await scripted((request) => ({ text: latestUserText(request), delayMs: 5 }));
  const asked = Array.from({ length: 100 }, (_, at) => `question ${at}`);
  const answers = await Promise.all(asked.map((contents) => models.generateContent({ model, contents })));
  expect(answers.map((response) => response.text)).toEqual(asked);
  expect(server.requests.map(({ call }) => call)).toEqual(asked.map((_, at) => at + 1));
});

test.each([
  ['not json', '{', 400, 'INVALID_ARGUMENT'],
  ['no contents', '{}', 400, 'INVALID_ARGUMENT'],
  ['an empty content', '{"contents":[{"parts":[]}]}', 400, 'INVALID_ARGUMENT'],
])('refuses %s as Google does', async (_what, body, code, status) => {
  const { server } = await scripted(() => ({ text: 'never' }));
  const response = await fetch(`${server.url}/v1beta/models/m:generateContent`, { method: 'POST', body });
  expect([response.status, await response.json()]).toMatchObject([code, { error: { code, status } }]);
  expect(server.requests).toEqual([]);
});

test('refuses other methods, and counts tokens', async () => {
  const { server, models } = await scripted(() => ({ text: 'never' }));
  expect((await fetch(`${server.url}/v1beta/models`)).status).toBe(404);
  expect((await models.countTokens({ model, contents: 'some words' })).totalTokens).toBeGreaterThan(0);
});

test('closes although an answer hangs', async () => {
  const { models, server } = await scripted(() => ({ hang: true }));
  const failed = expect(models.generateContent({ model, contents: 'x' })).rejects.toThrow();
  await until(() => server.requests.length === 1);
  await server.close();
  await failed;
});
