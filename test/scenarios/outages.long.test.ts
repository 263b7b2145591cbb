import { setTimeout as delay } from 'node:timers/promises';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import {
  pauseProcess,
  type ScriptedGemini,
  type Server,
  startNats,
  startRedis,
  startScriptedGemini,
  startTcpProxy,
  until,
} from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restClient } from '../rest-client.ts';

let model: ScriptedGemini;
let nats: Server;
let redis: Server;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
/** The gate for which the model waits. */
let gate = Promise.withResolvers<void>();

beforeAll(async () => {
  model = await startScriptedGemini({
    script: async () => {
      await gate.promise;
      return { text: 'done' };
    },
  });
  [nats, redis] = await Promise.all([startNats(), startRedis()]);
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    natsUrl: nats.url,
    redisUrl: redis.url,
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
  client = restClient(mesh.gatewayUrl);
});
afterAll(async () => {
  gate.resolve();
  await mesh?.[Symbol.asyncDispose]();
  await Promise.all([nats, redis].map((server) => server?.[Symbol.asyncDispose]()));
  await model?.close();
});

/** Starts a run whose model waits for the gate. */
async function openRun() {
  gate = Promise.withResolvers<void>();
  const sessionId = await client.createSession('stock_app');
  const before = model.requests.length;
  const body = { appName: 'stock_app', userId: 'u1', sessionId, newMessage: 'wait' };
  const stream = await client.send('POST', '/run_sse', body);
  await until(() => model.requests.length > before, { what: 'the model to be asked' });
  const session = `/apps/stock_app/users/u1/sessions/${sessionId}`;
  const path = `${session}/invocations/${stream.headers.get('x-invocation-id')}`;
  const state = async () => (await (await client.send('GET', path)).json()) as { status: string };
  return { sessionId, session, stream, state };
}

const answerOf = async (response: Response) => ({ status: response.status, body: await response.json() });

describe('a server that stops without a word', () => {
  it('is NATS: runs at work continue, sessions are read and made, a new run is told to try again', async () => {
    const { sessionId, session, stream, state } = await openRun();
    // The gateway does not look for an agent that was up a moment ago.
    await delay(300);
    using paused = pauseProcess(nats.pid);
    const refused = client.run('stock_app', sessionId, 'more').then(answerOf);
    expect((await client.send('GET', session)).status).toBe(200);
    expect(await client.createSession('stock_app')).toBeTruthy();
    gate.resolve();
    expect(await stream.text()).toContain('"text":"done"');
    expect(await state()).toMatchObject({ status: 'completed' });
    expect(await refused).toMatchObject({
      status: 503,
      body: { code: 'unavailable', error: 'NATS gives no answer; try again later' },
    });
    paused.resume();
    const answered = async () => (await client.run('stock_app', sessionId, 'again')).status === 200;
    await until(answered, { what: 'the next run' });
  }, 60_000);

  it('is Redis, for some seconds: the streams of a run wait, and end as ever', async () => {
    const { session, stream, state } = await openRun();
    const asked = model.requests.length;
    const input = {
      ...{ threadId: 'outlasts', runId: 'r', tools: [], context: [] },
      messages: [{ id: 'm', role: 'user', content: 'wait' }],
    };
    const agUi = await client.send('POST', '/apps/stock_app/users/u1/ag-ui', input);
    await until(() => model.requests.length > asked, { what: 'the model to be asked' });
    {
      using _paused = pauseProcess(redis.pid);
      gate.resolve();
      // It answers once Redis has been silent for as long as a read waits for it.
      const read = await client.send('GET', session).then(answerOf);
      expect(read).toMatchObject({ status: 503, body: { code: 'unavailable' } });
      // The streams look into the log after 5 s of silence, and once again when that read has failed.
      await delay(8_000);
    }
    const frames = await stream.text();
    expect(frames).toContain('"text":"done"');
    expect(frames).not.toContain('"error"');
    expect(await agUi.text()).toMatch(/"delta":"done".*"type":"RUN_FINISHED"[^\n]*\n\n$/s);
    expect(await state()).toMatchObject({ status: 'completed' });
  }, 60_000);

  it('is Redis, for a gateway alone: a run whose events it has is answered before what it must read', async () => {
    await using proxy = await startTcpProxy({ host: redis.host, port: redis.port });
    const address = new URL(mesh.redisUrlOf('gateway'));
    address.port = String(proxy.port);
    const gateway = await mesh.start('gateway', { REDIS_URL: address.href });
    const there = restClient(gateway.address ?? '');
    gate = Promise.withResolvers<void>();
    const sessionId = await there.createSession('stock_app');
    const before = model.requests.length;
    const answered: string[] = [];
    const running = there.run('stock_app', sessionId, 'wait').then((response) => {
      answered.push('the run');
      return response;
    });
    await until(() => model.requests.length > before, { what: 'the model to be asked' });
    proxy.stall();
    const path = `/apps/stock_app/users/u1/sessions/${sessionId}`;
    const readings = [1, 2, 3].map(async () => {
      const { status } = await there.send('GET', path);
      answered.push(`a session: ${status}`);
    });
    await delay(500);
    gate.resolve();
    const response = await running;
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"text":"done"')]);
    expect(answered).toEqual(['the run']);
    proxy.heal();
    await Promise.all(readings);
    await gateway.stop();
  }, 60_000);

  it('is Redis, for long: a stream ends as unavailable although the run goes on', async () => {
    const { stream, state } = await openRun();
    using paused = pauseProcess(redis.pid);
    gate.resolve();
    const frames = await stream.text();
    expect(frames).toContain('"code":"unavailable"');
    expect(frames).not.toContain('"text":"done"');
    paused.resume();
    await until(async () => (await state()).status === 'completed', { what: 'the end of the run' });
  }, 60_000);
});
