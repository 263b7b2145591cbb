import { startScriptedGemini } from '@agentmesh/testing';
import { expect, it, onTestFinished } from 'vitest';
import { GeminiEmbedder } from './gemini-embedder.ts';

const script = () => ({ text: 'unused' });

async function start(embed: Parameters<typeof startScriptedGemini>[0]['embed'] = {}) {
  const server = await startScriptedGemini({ script, embed });
  onTestFinished(() => server.close());
  return {
    server,
    embedder: new GeminiEmbedder({
      apiKey: 'k',
      baseUrl: server.url,
      dimensions: 64,
      retryOptions: { initialDelay: 0.001 },
    }),
  };
}

function dot(a: Float32Array = new Float32Array(), b: Float32Array = new Float32Array()): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

it('makes vectors of length 1, near for texts that mean the same', async () => {
  const { server, embedder } = await start({ meanings: [['tea', 'chai']] });
  const [tea, chai, car] = await embedder.embed(['green tea', 'chai green', 'a red car'], 'document');
  expect(dot(tea, tea)).toBeCloseTo(1);
  expect(dot(tea, chai)).toBeGreaterThan(0.9);
  expect(dot(tea, car)).toBeLessThan(0.5);
  expect(server.embedRequests).toMatchObject([
    { dimensions: 64, taskTypes: Array(3).fill('RETRIEVAL_DOCUMENT') },
  ]);
});

it('sends at most a hundred texts at once, in order', async () => {
  const { server, embedder } = await start();
  const texts = Array.from({ length: 150 }, (_, n) => `text ${n}`);
  const vectors = await embedder.embed(texts, 'query');
  expect(server.embedRequests.map((request) => request.texts.length)).toEqual([100, 50]);
  const [last] = await embedder.embed(['text 149'], 'query');
  expect(dot(vectors[149], last)).toBeCloseTo(1);
});

it('retries when the model is overloaded, but not after an abort', async () => {
  let left = 1;
  const { server, embedder } = await start({
    fail: () => {
      left -= 1;
      return left >= 0 ? { status: 503, message: 'overloaded' } : undefined;
    },
  });
  expect(await embedder.embed(['tea'], 'query')).toHaveLength(1);
  expect(server.embedRequests).toHaveLength(2);
  await expect(embedder.embed(['tea'], 'query', AbortSignal.abort(new Error('too late')))).rejects.toThrow(
    'too late',
  );
});

it("stops at once with the signal's reason when it is aborted", async () => {
  const stop = new AbortController();
  const { embedder } = await start({
    fail: () => {
      stop.abort(new Error('too late'));
      return { status: 503, message: 'overloaded' };
    },
  });
  await expect(embedder.embed(['tea'], 'query', stop.signal)).rejects.toThrow('too late');
});

it('distinguishes refused texts from a model that does not answer', async () => {
  const { embedder } = await start({ fail: () => ({ status: 400, message: 'bad text' }) });
  await expect(embedder.embed(['tea'], 'query')).rejects.toMatchObject({ code: 'invalid_argument' });
});

it('says which server it cannot reach', async () => {
  const { server, embedder } = await start();
  await server.close();
  const { host } = new URL(server.url);
  await expect(embedder.embed(['tea'], 'query')).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining(`model gemini-embedding-001 cannot be reached at ${host}`),
  });
});
