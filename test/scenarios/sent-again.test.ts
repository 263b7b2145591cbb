import { MeshClient, textOf } from '@agentmesh/client';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import type { Event } from '@agentmesh/protocol';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restClient } from '../rest-client.ts';

const app = 'stock_app';

let model: ScriptedGemini;
let mesh: LocalMesh;
/** The gate for which the last answer of the model waits. */
let gate = Promise.withResolvers<void>();
beforeAll(async () => {
  gate.resolve();
  model = await startScriptedGemini({
    script: async (request) => {
      if (latestFunctionResponses(request).length === 0)
        return { calls: [{ name: 'get_stock_price', args: { ticker: 'GOOG' } }] };
      await gate.promise;
      return { text: 'It stands high.' };
    },
  });
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
}, 60_000);
afterAll(async () => {
  gate.resolve();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

const runAt = (url: string, path: string, session: string, key: string, text = 'GOOG?', more = {}) =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({
      ...{ appName: app, userId: 'u1', sessionId: session, newMessage: { parts: [{ text }] }, ...more },
    }),
  });

/** Returns the messages of the user in a session, and the number of all events. */
async function messagesIn(session: string) {
  const response = await fetch(`${mesh.gatewayUrl}/apps/${app}/users/u1/sessions/${session}`);
  const { events } = (await response.json()) as { events: Event[] };
  return { messages: events.filter(({ author }) => author === 'user').length, events: events.length };
}

describe('a message that comes again with its key', () => {
  it('is one run when its gateway is killed before the answer, at another gateway', async () => {
    gate = Promise.withResolvers();
    const doomed = await mesh.start('gateway');
    const session = await restClient(mesh.gatewayUrl).createSession(app);
    const lost = runAt(doomed.address ?? '', '/run', session, 'k1').then(
      (response) => response.status,
      () => 'lost',
    );
    await until(async () => (await messagesIn(session)).events === 3, { what: 'the run to wait' });
    await doomed.kill();
    expect(await lost).toBe('lost');
    const again = runAt(mesh.gatewayUrl, '/run', session, 'k1');
    gate.resolve();
    const events = (await (await again).json()) as Event[];
    expect(events.map((event) => event.content?.parts?.[0]?.text)).toEqual([
      ...[undefined, undefined, 'It stands high.'],
    ]);
    // When the run is over, too.
    const late = await runAt(mesh.gatewayUrl, '/run', session, 'k1');
    expect(await late.json()).toEqual(events);
    expect(await messagesIn(session)).toEqual({ messages: 1, events: 4 });
  }, 60_000);

  it.each([
    ['session', `/apps/${app}/users/u1/sessions/anew`],
    ['user', `/apps/${app}/users/u1`],
  ])(
    'is a new run in a session that was made again after its %s was deleted',
    async (_, path) => {
      const { send } = restClient(mesh.gatewayUrl);
      const make = () => send('POST', `/apps/${app}/users/u1/sessions/anew`, {});
      const run = async () => {
        const response = await runAt(mesh.gatewayUrl, '/run', 'anew', 'k2');
        const events = (await response.json()) as Event[];
        return { status: response.status, texts: events.map(({ content }) => content?.parts?.[0]?.text) };
      };
      const whole = { status: 200, texts: [undefined, undefined, 'It stands high.'] };
      expect((await make()).status).toBe(200);
      expect(await run()).toEqual(whole);
      expect((await send('DELETE', path)).status).toBe(200);
      expect((await make()).status).toBe(200);
      expect(await run()).toEqual(whole);
      expect(await messagesIn('anew')).toEqual({ messages: 1, events: 4 });
      expect((await send('DELETE', path)).status).toBe(200);
    },
    60_000,
  );

  it('does not stop the run of the first client when the second one leaves', async () => {
    gate = Promise.withResolvers();
    const { createSession, send } = restClient(mesh.gatewayUrl);
    const session = await createSession(app);
    const path = '/run_sse?stop_on_disconnect=true';
    const first = await runAt(mesh.gatewayUrl, path, session, 'k9');
    await until(async () => (await messagesIn(session)).events === 3, { what: 'the run to wait' });
    const second = await runAt(mesh.gatewayUrl, path, session, 'k9');
    const id = first.headers.get('x-invocation-id');
    expect(second.headers.get('x-invocation-id')).toBe(id);
    await second.body?.cancel();
    for (let look = 0; look < 50; look += 1) {
      const state = await send('GET', `/apps/${app}/users/u1/sessions/${session}/invocations/${id}`);
      expect(await state.json()).toMatchObject({ status: 'running' });
    }
    gate.resolve();
    expect(await first.text()).toContain('It stands high.');
  });

  it('is one run when it comes many times at once, and its stream begins at the beginning', async () => {
    const session = await restClient(mesh.gatewayUrl).createSession(app);
    const second = await mesh.start('gateway');
    const urls = [mesh.gatewayUrl, second.address ?? ''];
    const texts = await Promise.all(
      Array.from({ length: 8 }, async (_, turn) => {
        const response = await runAt(urls[turn % 2] ?? '', '/run_sse', session, 'k2');
        return { invocation: response.headers.get('x-invocation-id'), text: await response.text() };
      }),
    );
    await second.stop();
    expect(new Set(texts.map(({ invocation }) => invocation)).size).toBe(1);
    for (const { text } of texts)
      expect([...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))).toEqual([2, 3, 4]);
    expect(await messagesIn(session)).toEqual({ messages: 1, events: 4 });
  }, 60_000);

  it('is the same also with its fields in another order, and other spaces', async () => {
    const session = await restClient(mesh.gatewayUrl).createSession(app);
    const write = (body: string) =>
      fetch(`${mesh.gatewayUrl}/run`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'k-order' },
        body,
      });
    const ids = { appName: app, userId: 'u1', sessionId: session };
    const newMessage = { role: 'user', parts: [{ text: 'GOOG?' }] };
    const first = await write(JSON.stringify({ ...ids, newMessage }));
    const again = await write(
      JSON.stringify({ newMessage: { parts: newMessage.parts, role: 'user' }, ...ids }, null, 2),
    );
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(await again.json()).toEqual(await first.json());
    expect(await messagesIn(session)).toEqual({ messages: 1, events: 4 });
  });

  it('is refused with another body, and a run of its own in another session', async () => {
    const client = restClient(mesh.gatewayUrl);
    const [one, other] = [await client.createSession(app), await client.createSession(app)];
    expect((await runAt(mesh.gatewayUrl, '/run', one, 'k3')).status).toBe(200);
    const refused = await runAt(mesh.gatewayUrl, '/run', one, 'k3', 'MSFT?');
    expect([refused.status, await refused.text()]).toEqual([
      ...[409, expect.stringContaining('choose a new key')],
    ]);
    expect((await runAt(mesh.gatewayUrl, '/run', other, 'k3')).status).toBe(200);
    expect((await messagesIn(other)).messages).toBe(1);
    const odd = await runAt(mesh.gatewayUrl, '/run', one, 'a b');
    expect([odd.status, await odd.text()]).toEqual([400, expect.stringContaining('idempotency-key')]);
  });

  it('is what the client sends when the answer of a gateway is lost', async () => {
    let losses = 2;
    const lossy: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!String(input).includes('/run_sse') || losses === 0) return response;
      losses -= 1;
      await response.body?.cancel();
      throw new TypeError('fetch failed');
    };
    const client = new MeshClient({ url: mesh.gatewayUrl, fetch: lossy });
    const session = await client.createSession({ app, user: 'u1' });
    const run = await client.run(session, 'GOOG?');
    expect((await run.rest()).map(textOf).at(-1)).toBe('It stands high.');
    expect(losses).toBe(0);
    expect(await messagesIn(session.session)).toEqual({ messages: 1, events: 4 });
  });
});

describe('a message that was refused before its run began', () => {
  const forged = {
    functionResponse: { id: 'x', name: 'adk_request_confirmation', response: { confirmed: true } },
  };

  it.each([
    ['answers no question', { newMessage: { parts: [forged] } }, 412],
    ['continues no invocation', { invocationId: 'e-none' }, 412],
    ['is of an unknown app', { appName: 'no_app' }, 404],
  ])('leaves its key free: it %s', async (_, wrong, status) => {
    const session = await restClient(mesh.gatewayUrl).createSession(app);
    const refused = await runAt(mesh.gatewayUrl, '/run', session, 'r1', 'GOOG?', wrong);
    expect(refused.status).toBe(status);
    expect((await runAt(mesh.gatewayUrl, '/run', session, 'r1')).status).toBe(200);
    expect(await messagesIn(session)).toEqual({ messages: 1, events: 4 });
  });

  it('leaves its key free when the queue of the session refuses it, for one run', async () => {
    gate = Promise.withResolvers();
    const session = await restClient(mesh.gatewayUrl).createSession(app);
    const first = runAt(mesh.gatewayUrl, '/run', session, 'r2');
    await until(async () => (await messagesIn(session)).events === 3, { what: 'the run to wait' });
    const second = await mesh.start('gateway');
    const urls = [mesh.gatewayUrl, second.address ?? ''];
    const runNow = (turn: number) =>
      runAt(urls[turn % 2] ?? '', '/run', session, 'r3', 'GOOG?', { whenBusy: 'reject' });
    for (const turn of [0, 1, 2]) expect((await runNow(turn)).status).toBe(429);
    gate.resolve();
    expect((await first).status).toBe(200);
    const answers = await Promise.all(Array.from({ length: 8 }, (_, turn) => runNow(turn)));
    const events = (await Promise.all(answers.map((answer) => answer.json()))) as Event[][];
    await second.stop();
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(new Set(answers.map(({ headers }) => headers.get('x-invocation-id'))).size).toBe(1);
    expect(events.map(({ length }) => length)).toEqual(Array(8).fill(3));
    expect(await messagesIn(session)).toEqual({ messages: 2, events: 8 });
  }, 60_000);
});
