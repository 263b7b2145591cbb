import { startScriptedGemini } from '@agentmesh/testing';
import { expect, it, onTestFinished } from 'vitest';
import { GeminiEmbedder } from './gemini-embedder.ts';

const script = () => ({ text: 'unused' });

async function start(embed: Parameters<typeof startScriptedGemini>[0]['embed'] = {}) {
  const server = await startScriptedGemini({ script, embed });
  onTestFinished(() => server.close());
  return { server, embedder: new GeminiEmbedder({ apiKey: 'k', baseUrl: server.url, dimensions: 64 }) };
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

it('asks for at most a hundred at once, in order', async () => {
  const { server, embedder } = await start();
  const texts = Array.from({ length: 150 }, (_, n) => `text ${n}`);
  const vectors = await embedder.embed(texts, 'query');
  expect(server.embedRequests.map((request) => request.texts.length)).toEqual([100, 50]);
  const [last] = await embedder.embed(['text 149'], 'query');
  expect(dot(vectors[149], last)).toBeCloseTo(1);
});

it('asks again when the model is overloaded, and gives up when the signal says so', async () => {
  let left = 1;
  const { server, embedder } = await start({
    fail: () => {
      left -= 1;
      return left >= 0 ? { status: 503, message: 'overloaded' } : undefined;
    },
  });
  expect(await embedder.embed(['tea'], 'query')).toHaveLength(1);
  expect(server.embedRequests).toHaveLength(2);
  left = 100;
  const late = embedder.embed(['tea'], 'query', AbortSignal.timeout(20));
  await expect(late).rejects.toMatchObject({ name: 'TimeoutError' });
});
