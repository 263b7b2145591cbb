import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { MeshClient } from '@agentmesh/client';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { type ScriptedGemini, startScriptedGemini } from '@agentmesh/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { restClient } from '../../rest-client.ts';
import { watchMemory } from './gateway-memory.fixture.ts';

const app = 'stock_app';
/** The size of the model's answers. */
const size = 9_000_000;

let model: ScriptedGemini;
let mesh: LocalMesh;
let gateway: LocalMesh['gateway'];
let client: ReturnType<typeof restClient>;
beforeAll(async () => {
  model = await startScriptedGemini({ script: () => ({ text: 'w'.repeat(size) }) });
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
}, 60_000);
// The memory that one test has used must not count for the next.
beforeEach(async () => {
  gateway = await mesh.start('gateway');
  client = restClient(gateway.address ?? '');
});
afterEach(async () => {
  for (const user of users) await client.send('DELETE', `/apps/${app}/users/${user}`);
  users.clear();
  await gateway.kill();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

/** The users with data, which the tests delete: Redis would keep 600 MB. */
const users = new Set<string>();

interface RunBody {
  appName: string;
  userId: string;
  sessionId: string;
  newMessage: object;
}

/** Makes a session for each of some users, and returns the bodies of a run in each. */
async function bodiesOf(count: number): Promise<RunBody[]> {
  const bodies: RunBody[] = [];
  for (let at = 0; at < count; at += 1) {
    const userId = `user-${at}`;
    users.add(userId);
    const sessionId = await client.createSession(app, userId);
    bodies.push({ appName: app, userId, sessionId, newMessage: { parts: [{ text: 'Write.' }] } });
  }
  return bodies;
}

/** Sends a request, and reads nothing after the first bytes of its answer. */
async function askAndWait(path: string, body: object): Promise<string> {
  const text = JSON.stringify(body);
  const socket: Socket = connect({ port: Number(new URL(gateway.address ?? '').port), host: '127.0.0.1' });
  onTestFinished(() => void socket.destroy());
  // The gateway may cut the connection.
  socket.on('error', () => {});
  const head = 'host: localhost\r\ncontent-type: application/json';
  socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  return first.toString('latin1', 9, 12);
}

/** 429: there is no room for the answer; 503: on a busy machine Redis is slow with such answers. */
const passing = [429, 503];

/** Runs as a client that comes back with its key after a refusal that passes. */
async function runToItsEnd(body: object): Promise<{ status: number; isWhole: boolean }> {
  const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
  for (;;) {
    const response = await fetch(`${gateway.address}/run`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const { length } = await response.text();
    if (!passing.includes(response.status)) return { status: response.status, isWhole: length > size };
    await delay(Number(response.headers.get('retry-after') ?? 1) * 1_000);
  }
}

/** Runs, comes back to the stream when it ends early, and returns the length of the answer of the model. */
async function streamedLength({ userId: user, sessionId: session }: RunBody): Promise<number> {
  const mine = new MeshClient({ url: gateway.address ?? '' });
  const run = await mine.run({ app, user, session }, 'Write.', { streaming: false });
  const events = await Array.fromAsync(run);
  return events.reduce((sum, { event }) => sum + (event.content?.parts?.[0]?.text?.length ?? 0), 0);
}

describe('runs whose events have 9 MB', () => {
  it.each([16, 64])(
    'answer %d clients at once, in bounded memory',
    async (count) => {
      const bodies = await bodiesOf(count);
      const most = watchMemory(gateway.pid);
      const answers = await Promise.all(bodies.map(runToItsEnd));
      expect(answers).toEqual(bodies.map(() => ({ status: 200, isWhole: true })));
      expect(most()).toBeLessThan(512);
    },
    240_000,
  );

  it('stream to 32 clients at once, in bounded memory', async () => {
    const bodies = await bodiesOf(32);
    const most = watchMemory(gateway.pid);
    expect(await Promise.all(bodies.map(streamedLength))).toEqual(bodies.map(() => size));
    expect(most()).toBeLessThan(512);
  }, 240_000);

  it.each(['/run', '/run_sse'])(
    'come by %s for 48 clients that do not read',
    async (path) => {
      const bodies = await bodiesOf(48);
      const most = watchMemory(gateway.pid);
      const statuses = await Promise.all(bodies.map((body) => askAndWait(path, body)));
      expect(statuses.filter((status) => status !== '200' && !passing.includes(Number(status)))).toEqual([]);
      // Small answers are served all the time.
      expect((await client.send('GET', '/list-apps')).status).toBe(200);
      expect(most()).toBeLessThan(512);
    },
    240_000,
  );
});

describe('requests with 9 MB', () => {
  it('come from 64 clients at once, in bounded memory', async () => {
    const most = watchMemory(gateway.pid);
    const statuses = await Promise.all(
      Array.from({ length: 64 }, async (_, at) => {
        users.add(`user-${at}`);
        const state = { big: 'x'.repeat(size) };
        const response = await client.send('POST', `/apps/${app}/users/user-${at}/sessions`, { state });
        await response.arrayBuffer();
        return response.status;
      }),
    );
    expect(statuses.filter((status) => status !== 200 && !passing.includes(status))).toEqual([]);
    expect(statuses).toContain(200);
    expect(most()).toBeLessThan(512);
  }, 240_000);

  it('copy whole sessions one after the other, and refuse one that is too large by name', async () => {
    users.add('max');
    const id = await client.createSession(app, 'max');
    const path = `/apps/${app}/users/max/sessions/${id}`;
    const grow = async () => {
      const response = await client.send('PATCH', path, { stateDelta: { big: 'x'.repeat(size) } });
      await response.arrayBuffer();
      return response.status;
    };
    for (let at = 0; at < 3; at += 1) expect(await grow()).toBe(200);
    const most = watchMemory(gateway.pid);
    const copy = async () => {
      const response = await client.send('POST', `${path}/fork`, {});
      const { length } = await response.text();
      return [response.status, length > 3 * size];
    };
    expect(await Promise.all([copy(), copy(), copy()])).toEqual(Array(3).fill([200, true]));
    expect(most()).toBeLessThan(512);

    expect(await grow()).toBe(200);
    const refused = await client.send('POST', `${path}/fork`, {});
    expect(refused.status).toBe(412);
    expect(await refused.json()).toMatchObject({
      ...{ code: 'failed_precondition', error: expect.stringContaining(`session ${id} has more than`) },
    });
  }, 120_000);
});
