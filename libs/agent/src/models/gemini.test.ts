import { type ModelReply, type ModelScript, sequence, startScriptedGemini, until } from '@agentmesh/testing';
import {
  FunctionCallingConfigMode,
  type GenerateContentConfig,
  HarmBlockThreshold,
  HarmCategory,
  MediaResolution,
  Modality,
  type Part,
  ThinkingLevel,
} from '@google/genai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type LlmRequest, lendContents, readContents } from '../base/base-llm.ts';
import { deepFreeze } from '../events/freeze.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { Gemini, type GeminiOptions } from './gemini.ts';

async function gemini(replies: (ModelReply | ModelScript)[], options: GeminiOptions = {}) {
  const server = await startScriptedGemini({ script: sequence(...replies) });
  onTestFinished(() => server.close());
  const llm = new Gemini({
    model: 'gemini-test',
    apiKey: 'key',
    baseUrl: server.url,
    retryOptions: { initialDelay: 0 },
    ...options,
  });
  return { llm, requests: server.requests };
}

const request: LlmRequest = {
  model: 'gemini-test',
  contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
  config: {},
  toolsDict: {},
};
const away: ModelReply = { error: { status: 503, message: 'away' } };
const both = [false, true];

describe('a model that answers', () => {
  it.each(both)(
    'changes nothing in the contents, which may belong to a log; streaming: %s',
    async (stream) => {
      const { llm, requests } = await gemini([{ text: 'hello' }, { text: 'hello' }]);
      const call = { functionCall: { name: 'f', args: { a: [1] } } };
      const image = { inlineData: { data: 'aGk=', mimeType: 'image/png', displayName: 'a.png' } };
      const contents = [
        { role: 'user', parts: [{ text: 'hi' }, image] },
        { role: 'model', parts: [call] },
      ];
      deepFreeze(contents);
      for (const each of [contents, contents.slice(0, 1)]) {
        const lent = lendContents({ model: 'gemini-test', config: {}, toolsDict: {} }, each);
        await Array.fromAsync(llm.generateContentAsync(lent, stream));
        expect(readContents(lent)).toBe(each);
      }
      expect(requests).toHaveLength(2);
    },
  );
});

describe('a model that fails', () => {
  it.each(both)('is called again, twice, when that may help; streaming: %s', async (stream) => {
    const { llm, requests } = await gemini([away, away, { text: 'here I am' }]);
    const responses = await Array.fromAsync(llm.generateContentAsync(request, stream));
    expect(responses.at(-1)?.content?.parts).toEqual([{ text: 'here I am' }]);
    expect(requests).toHaveLength(3);
  });

  it.each(both)('is not called again when the request is wrong; streaming: %s', async (stream) => {
    const { llm, requests } = await gemini([{ error: { status: 400, message: 'what?' } }, { text: 'never' }]);
    await expect(Array.fromAsync(llm.generateContentAsync(request, stream))).rejects.toMatchObject({
      status: 400,
    });
    expect(requests).toHaveLength(1);
  });

  it.each([
    ['of its own', { retryOptions: { attempts: 2, initialDelay: 0 } }],
    [
      "of the client's, once",
      { client: { httpOptions: { retryOptions: { attempts: 2, initialDelay: 0 } } } },
    ],
  ])('is called as often as the options allow: %s', async (_whose, options) => {
    const { llm, requests } = await gemini([away, away, away, away], {
      ...options,
      ...('client' in options && { retryOptions: undefined }),
    } as GeminiOptions);
    await expect(Array.fromAsync(llm.generateContentAsync(request))).rejects.toMatchObject({ status: 503 });
    expect(requests).toHaveLength(2);
  });

  it('is not called again after its stream has begun', async () => {
    const { llm, requests } = await gemini([{ text: 'one two three', cutAfter: 1 }, { text: 'never' }]);
    const heard: unknown[] = [];
    const listen = async () => {
      for await (const { content } of llm.generateContentAsync(request, true)) heard.push(content);
    };
    await expect(listen()).rejects.toThrow();
    expect(heard).toEqual([{ role: 'model', parts: [{ text: 'one' }] }]);
    expect(requests).toHaveLength(1);
  });

  it('ends at once when the run is aborted', async () => {
    const retryOptions = { initialDelay: 3_600, maxDelay: 3_600 };
    const { llm, requests } = await gemini([away, { text: 'never' }], { retryOptions });
    const aborted = new AbortController();
    const answer = Array.fromAsync(llm.generateContentAsync(request, false, aborted.signal));
    const failed = expect(answer).rejects.toThrow('enough');
    await until(() => requests.length === 1);
    aborted.abort(new Error('enough'));
    await failed;
    expect(requests).toHaveLength(1);
  });
});

it('throws the reason of an abort while the model is silent', async () => {
  const { llm, requests } = await gemini([{ hang: true }]);
  const aborted = new AbortController();
  const answer = Array.fromAsync(llm.generateContentAsync(request, false, aborted.signal));
  const failed = expect(answer).rejects.toThrow('enough');
  await until(() => requests.length === 1);
  aborted.abort(new Error('enough'));
  await failed;
});

describe('the thoughts of a model', () => {
  const thought: Part = { text: 'They want the time.', thought: true, thoughtSignature: 'dGhvdWdodA==' };
  const call: Part = { functionCall: { name: 'now', args: {} }, thoughtSignature: 'Y2FsbA==' };
  const words: Part = { text: 'It is noon.', thoughtSignature: 'd29yZHM=' };

  it.each(['none', 'sse'] as const)(
    'stays with its signatures in the log and in the next prompt; streaming: %s',
    async (streamingMode) => {
      const { llm, requests } = await gemini([
        { parts: [thought, call] },
        { parts: [words] },
        { text: 'good bye' },
      ]);
      const now = new FunctionTool({ name: 'now', description: 'tells', execute: () => 'noon' });
      const { say, stored } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [now] }));
      await say('what time is it?', { streamingMode });
      await say('bye', { streamingMode });
      const id = expect.stringMatching(/^adk-/);
      const { events } = await stored();
      expect(events[1]?.content?.parts).toEqual([
        thought,
        { ...call, functionCall: { ...call.functionCall, id } },
      ]);
      expect(events[3]?.content?.parts).toEqual([words]);
      expect(requests[2]?.contents).toEqual([
        { role: 'user', parts: [{ text: 'what time is it?' }] },
        { role: 'model', parts: [thought, call] },
        { role: 'user', parts: [{ functionResponse: { name: 'now', response: { result: 'noon' } } }] },
        { role: 'model', parts: [words] },
        { role: 'user', parts: [{ text: 'bye' }] },
      ]);
    },
  );
});

describe('a stream', () => {
  it('yields text as it arrives, and the calls of all chunks in one answer', async () => {
    const a: Part = { functionCall: { name: 'a', args: { n: 1 } } };
    const b: Part = { functionCall: { name: 'b', args: { n: 2 } } };
    const { llm } = await gemini([{ parts: [{ text: 'let me ' }, { text: 'see' }, a, b] }]);
    const responses = await Array.fromAsync(llm.generateContentAsync(request, true));
    expect(responses.map(({ partial, content }) => [partial ?? false, content?.parts])).toEqual([
      [true, [{ text: 'let me ' }]],
      [true, [{ text: 'see' }]],
      [false, [{ text: 'let me see' }, a, b]],
    ]);
    expect(responses.at(-1)).toMatchObject({ finishReason: 'STOP', usageMetadata: expect.anything() });
  });
});

/** Makes a client whose server answers with this JSON, and the list of the request bodies. */
function answering(...answers: object[]) {
  const bodies: Record<string, unknown>[] = [];
  const fetch = async (_url: unknown, init?: { body?: unknown }) => {
    bodies.push(JSON.parse(String(init?.body)));
    return Response.json(answers.shift() ?? { candidates: [{ content: { parts: [{ text: 'ok' }] } }] });
  };
  const client = { httpOptions: { fetch: fetch as typeof globalThis.fetch } };
  return { llm: new Gemini({ model: 'gemini-test', apiKey: 'key', client }), bodies };
}

describe('a model on Vertex AI', () => {
  it('is asked in its project and location, with the headers of the options', async () => {
    const asked: { url: string; headers: Headers }[] = [];
    const fetch = async (url: unknown, init?: RequestInit) => {
      asked.push({ url: String(url), headers: new Headers(init?.headers) });
      return Response.json({ candidates: [{ content: { parts: [{ text: 'here' }] } }] });
    };
    const authClient = { getRequestHeaders: async () => new Headers({ authorization: 'Bearer t' }) };
    const httpOptions = { fetch: fetch as typeof globalThis.fetch, headers: { 'x-a': '1' } };
    const llm = new Gemini({
      ...{ model: 'gemini-test', vertexai: true, project: 'p', location: 'here-1' },
      headers: { 'x-b': '2' },
      client: { httpOptions, googleAuthOptions: { authClient: authClient as never } },
    });
    const [response] = await Array.fromAsync(llm.generateContentAsync(request));
    expect(response?.content?.parts).toEqual([{ text: 'here' }]);
    expect(asked[0]?.url).toMatch(
      /here-1.*\/projects\/p\/locations\/here-1\/publishers\/google\/models\/gemini-test:/,
    );
    expect(Object.fromEntries(asked[0]?.headers ?? [])).toMatchObject({
      authorization: 'Bearer t',
      'x-a': '1',
      'x-b': '2',
    });
  });
});

describe('generateContentConfig', () => {
  const settings: [keyof GenerateContentConfig, unknown][] = [
    ['temperature', 0.25],
    ['topP', 0.5],
    ['topK', 3],
    ['candidateCount', 1],
    ['maxOutputTokens', 77],
    ['stopSequences', ['END']],
    ['responseLogprobs', true],
    ['logprobs', 2],
    ['presencePenalty', 0.1],
    ['frequencyPenalty', 0.2],
    ['seed', 42],
    ['responseMimeType', 'application/json'],
    ['responseJsonSchema', { type: 'object' }],
    ['responseModalities', [Modality.TEXT]],
    ['mediaResolution', MediaResolution.MEDIA_RESOLUTION_LOW],
    ['speechConfig', { languageCode: 'de-DE' }],
    ['thinkingConfig', { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW }],
    ['imageConfig', { aspectRatio: '1:1' }],
    ['enableEnhancedCivicAnswers', true],
  ];

  it.each(settings)('sends %s to the server', async (key, value) => {
    const { llm, bodies } = answering();
    const { say } = await chat(
      new LlmAgent({ name: 'root', model: llm, generateContentConfig: { [key]: value } }),
    );
    expect((await say('hi')).map(brief)).toEqual(['root: ok']);
    expect(bodies[0]?.generationConfig).toEqual({ [key]: value });
  });

  it('sends the fields beside the generation itself, with instruction and tools', async () => {
    const { llm, bodies } = answering();
    const safetySettings = [
      {
        category: HarmCategory.HARM_CATEGORY_HARASSMENT,
        threshold: HarmBlockThreshold.BLOCK_ONLY_HIGH,
      },
    ];
    const functionCallingConfig = { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['now'] };
    const agent = new LlmAgent({
      name: 'root',
      model: llm,
      instruction: 'Be brief.',
      tools: [new FunctionTool({ name: 'now', description: 'tells', execute: () => 'noon' })],
      generateContentConfig: {
        safetySettings,
        toolConfig: { functionCallingConfig },
        cachedContent: 'cachedContents/c1',
        temperature: 0,
      },
    });
    await (await chat(agent)).say('hi');
    expect(bodies[0]).toMatchObject({
      safetySettings,
      toolConfig: { functionCallingConfig },
      cachedContent: 'cachedContents/c1',
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      tools: [{ functionDeclarations: [{ name: 'now' }] }],
      generationConfig: { temperature: 0 },
    });
  });
});

describe('an answer that breaks off', () => {
  const text = { role: 'model', parts: [{ text: 'so far' }] };
  it.each<[string, object, string]>([
    ['is blocked', { content: { role: 'model' }, finishReason: 'SAFETY' }, 'root: fails SAFETY'],
    [
      'has a malformed call',
      { finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage: 'print(' },
      'root: fails MALFORMED_FUNCTION_CALL',
    ],
    [
      'has no room left for words',
      { content: { role: 'model', parts: [] }, finishReason: 'MAX_TOKENS' },
      'root: fails MAX_TOKENS',
    ],
    [
      'has no room left for words but empty ones',
      { content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'MAX_TOKENS' },
      'root: fails MAX_TOKENS',
    ],
    [
      'has nothing to say',
      { content: { role: 'model', parts: [] }, finishReason: 'STOP' },
      'root: fails EMPTY_RESPONSE',
    ],
    ['has no room left for more words', { content: text, finishReason: 'MAX_TOKENS' }, 'root: so far'],
  ])('because it %s reports that', async (_why, candidate, said) => {
    const { llm } = answering({ candidates: [candidate] });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm }));
    const events = await say('hi');
    expect(events.map(brief)).toEqual([said]);
    expect(events[0]).toMatchObject({ finishReason: Reflect.get(candidate, 'finishReason') });
  });

  it('reports why a prompt was blocked', async () => {
    const promptFeedback = { blockReason: 'PROHIBITED_CONTENT', blockReasonMessage: 'not that' };
    const { llm } = answering({ promptFeedback });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm }));
    expect((await say('hi'))[0]).toMatchObject({
      errorCode: 'PROHIBITED_CONTENT',
      errorMessage: 'not that',
    });
  });

  it.each([
    ['with words', [{ text: 'so' }, { text: ' far' }], 'root: fails SAFETY'],
    ['without any', [], 'root: fails SAFETY'],
  ])('in a stream, %s, reports the reason', async (_what, parts, said) => {
    const { llm } = await gemini([{ parts, finishReason: 'SAFETY' }]);
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm }));
    const last = (await say('hi', { streamingMode: 'sse' })).at(-1);
    expect(last && brief(last)).toBe(said);
    expect(last?.finishReason).toBe('SAFETY');
  });
});
