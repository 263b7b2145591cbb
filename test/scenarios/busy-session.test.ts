import { setTimeout as delay } from 'node:timers/promises';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { latestUserText, type ScriptedGemini, startScriptedGemini } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restClient } from '../rest-client.ts';

let model: ScriptedGemini;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
/** The gate for which the model waits when the message is `hold`. */
const gate = Promise.withResolvers<void>();

beforeAll(async () => {
  model = await startScriptedGemini({
    script: async (request) => {
      const text = latestUserText(request);
      if (text === 'hold') await gate.promise;
      return { text: `re: ${text}`, delayMs: 20 };
    },
  });
  const [stock] = samples.filter(({ manifest }) => manifest.name === 'stock_agent');
  if (!stock) throw new Error('the stock sample is gone');
  mesh = await launchMesh({
    services: [stock],
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
  await mesh.start(stock);
  client = restClient(mesh.gatewayUrl);
});
afterAll(async () => {
  gate.resolve();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

async function words(session: string): Promise<string[]> {
  const response = await client.send('GET', `/apps/stock_app/users/u1/sessions/${session}`);
  const { events } = (await response.json()) as { events: { content?: { parts?: { text?: string }[] } }[] };
  return events.map(({ content }) => content?.parts?.[0]?.text ?? '');
}

describe('a session that gets many messages at once', () => {
  it('answers them one after the other, with services that have only the rights they need', async () => {
    const session = await client.createSession('stock_app');
    const texts = Array.from({ length: 8 }, (_, n) => `m${n}`);
    await Promise.all(texts.map((text) => client.events('stock_app', session, text)));
    const said = await words(session);
    expect(said).toHaveLength(16);
    for (let at = 0; at < said.length; at += 2) expect(said[at + 1]).toBe(`re: ${said[at]}`);
  });

  it('ends each of many runs that interrupt each other', async () => {
    const session = await client.createSession('stock_app');
    const ended = await Promise.all(
      Array.from({ length: 10 }, async (_, n) => {
        await delay(n * 20);
        const more = { when_busy: 'interrupt' };
        return (await client.run('stock_app', session, `i${n}`, more)).status;
      }),
    );
    // Each run was answered, or cancelled by a newer one.
    expect(ended.filter((status) => status !== 200 && status !== 499)).toEqual([]);
    expect(ended).toContain(200);
  });

  it('tells which runs wait; a waiting run can be followed and cancelled', async () => {
    const session = await client.createSession('stock_app');
    const path = `/apps/stock_app/users/u1/sessions/${session}/invocations`;
    const state = async (id: string) => (await client.send('GET', `${path}/${id}`)).json();
    const begin = async (newMessage: string) => {
      const body = { appName: 'stock_app', userId: 'u1', sessionId: session, newMessage };
      const response = await client.send('POST', '/run_sse', body);
      return { response, id: response.headers.get('x-invocation-id') ?? '' };
    };
    const holding = await begin('hold');
    await expect.poll(() => state(holding.id)).toMatchObject({ status: 'running', lastSeq: 1 });
    const [first, second] = [await begin('first'), await begin('second')];
    for (const { id } of [first, second])
      await expect.poll(() => state(id)).toMatchObject({ status: 'waiting', llmCalls: 0, lastSeq: 0 });
    const cancelled = await client.send('POST', `${path}/${first.id}/cancel`, { reason: 'not needed' });
    expect(cancelled.status).toBe(202);
    const end = { status: 'cancelled', cancelled: 'not needed', lastSeq: 0, error: { code: 'cancelled' } };
    expect(await cancelled.json()).toMatchObject(end);
    expect(await state(first.id)).toMatchObject(end);
    expect(await first.response.text()).toContain('"code":"cancelled"');
    const followed = await client.send('GET', `${path}/${second.id}/events`);
    expect(followed.status).toBe(200);
    gate.resolve();
    expect(await followed.text()).toContain('re: second');
    expect(await words(session)).toEqual(['hold', 're: hold', 'second', 're: second']);
    expect((await client.send('POST', `${path}/e-none/cancel`, {})).status).toBe(404);
  });
});
