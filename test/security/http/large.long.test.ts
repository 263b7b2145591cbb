import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import type { Event } from '@agentmesh/protocol';
import { type ScriptedGemini, startScriptedGemini } from '@agentmesh/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { restClient } from '../../rest-client.ts';
import { watchMemory } from './gateway-memory.fixture.ts';

const app = 'stock_app';
const size = 9_000_000;
/** The size of the model's answers. */
const said = 4_000_000;

let model: ScriptedGemini;
let mesh: LocalMesh;
let gateway: LocalMesh['gateway'];
let client: ReturnType<typeof restClient>;
beforeAll(async () => {
  vi.stubEnv('MESH_UNREAD_MS', '120000');
  model = await startScriptedGemini({ script: () => ({ text: 'w'.repeat(said) }) });
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
  await gateway.kill();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

const sessionOf = (user: string, id: string) => `/apps/${app}/users/${user}/sessions/${id}`;

/** Deletes the data of a user: Redis in tests has little room. */
const forget = (user: string) => client.send('DELETE', `/apps/${app}/users/${user}`);

describe('answers of many MB', () => {
  it('come for 60 requests at once, some of them after 429 and the time to wait', async () => {
    const path = sessionOf('ann', await client.createSession(app, 'ann', { big: 'x'.repeat(size) }));
    const most = watchMemory(gateway.pid);
    const get = async () => {
      for (;;) {
        const response = await client.send('GET', path);
        const { length } = await response.text();
        if (response.status !== 429) return { status: response.status, isWhole: length > size };
        const seconds = Number(response.headers.get('retry-after'));
        expect(seconds).toBeGreaterThanOrEqual(1);
        await delay(seconds * 1_000);
      }
    };
    const answers = await Promise.all(Array.from({ length: 60 }, get));
    expect(answers).toEqual(answers.map(() => ({ status: 200, isWhole: true })));
    expect(most()).toBeLessThan(512);
  }, 120_000);

  it('come for lists of sessions with large states', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 12; count += 1)
      ids.push(await client.createSession(app, 'lea', { big: `${count} `.padEnd(size, 'y') }));
    const most = watchMemory(gateway.pid);
    const list = async () => {
      const response = await client.send('GET', `/apps/${app}/users/lea/sessions`);
      const text = await response.text();
      return { status: response.status, total: response.headers.get('x-total-count'), text };
    };
    const { status, total, text } = await list();
    expect([status, total]).toEqual([200, '12']);
    const listed = JSON.parse(text) as { id: string; state: { big: string } }[];
    expect(listed.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect(listed.every(({ state }) => state.big.length === size)).toBe(true);
    expect(most()).toBeLessThan(512);
    expect((await forget('lea')).status).toBe(200);
  }, 120_000);

  it('come for exports at once', async () => {
    const most = watchMemory(gateway.pid);
    const lines = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const response = await client.send('GET', `/apps/${app}/users/ann/export`);
        return (await response.text()).trimEnd().split('\n');
      }),
    );
    for (const each of lines) expect(JSON.parse(each.at(-1) ?? '')).toMatchObject({ kind: 'end' });
    expect(most()).toBeLessThan(512);
  }, 120_000);

  it('have the events of a long session, by every selection', async () => {
    const events = Array.from({ length: 500 }, (_, at) => ({
      ...{ id: `e${at}`, invocationId: 'i1', author: at % 2 ? 'stock_agent' : 'user', timestamp: 2e12 + at },
      actions: {},
      content: { role: 'user', parts: [{ text: `${at} `.padEnd(15_000, 'z') }] },
    }));
    const made = await client.send('POST', `/apps/${app}/users/max/sessions`, { sessionId: 's', events });
    expect(made.status).toBe(200);
    const idsOf = async (query: string) => {
      const response = await client.send('GET', `${sessionOf('max', 's')}${query}`);
      const { events: found } = (await response.json()) as { events: Event[] };
      return found.map(({ id }) => id);
    };
    const all = events.map(({ id }) => id);
    expect(await idsOf('')).toEqual(all);
    expect(await idsOf('?numRecentEvents=7')).toEqual(all.slice(-7));
    expect(await idsOf('?numRecentEvents=333')).toEqual(all.slice(-333));
    expect(await idsOf('?numRecentEvents=0')).toEqual([]);
    expect(await idsOf('?afterSeq=450')).toEqual(all.slice(450));
    expect(await idsOf('?afterSeq=10&numRecentEvents=20')).toEqual(all.slice(-20));
    expect(await idsOf('?afterSeq=498&numRecentEvents=20')).toEqual(all.slice(498));
    expect(await idsOf(`?afterTimestamp=${2e12 + 400}`)).toEqual(all.slice(400));
    expect(await idsOf(`?afterTimestamp=${2e12 + 400}&numRecentEvents=30`)).toEqual(all.slice(-30));
    expect(await idsOf(`?afterTimestamp=${2e12 + 490}&numRecentEvents=30`)).toEqual(all.slice(490));
    const page = await client.send('GET', `${sessionOf('max', 's')}/events?after=100&limit=250`);
    const { events: numbered, lastSeq } = (await page.json()) as {
      events: { seq: number }[];
      lastSeq: number;
    };
    expect(numbered.map(({ seq }) => seq)).toEqual(Array.from({ length: 250 }, (_, at) => at + 101));
    expect(lastSeq).toBe(500);
  }, 60_000);

  it('come for runs whose clients do not read', async () => {
    const most = watchMemory(gateway.pid);
    const users = Array.from({ length: 30 }, (_, at) => `user-${at}`);
    const sockets: Socket[] = [];
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    const statuses: string[] = [];
    // One after the other: an event of this size comes to the gateway in one piece.
    for (const user of users) {
      const body = JSON.stringify({
        ...{ appName: app, userId: user, sessionId: await client.createSession(app, user) },
        newMessage: { parts: [{ text: 'Write.' }] },
      });
      const socket = connect({ port: Number(new URL(gateway.address ?? '').port), host: '127.0.0.1' });
      sockets.push(socket);
      socket.on('error', () => {});
      socket.write(
        `POST /run HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      const [first] = (await once(socket, 'data')) as [Buffer];
      socket.pause();
      statuses.push(first.toString('latin1', 9, 12));
    }
    expect(statuses.every((status) => status === '200' || status === '429')).toBe(true);
    expect(statuses.filter((status) => status === '200').length).toBeGreaterThanOrEqual(20);
    expect(most()).toBeLessThan(512);
    for (const socket of sockets) socket.destroy();
    const session = await client.createSession(app);
    const [answer] = await client.events(app, session, 'Write.');
    expect(answer?.content?.parts?.[0]?.text).toHaveLength(said);
  }, 120_000);
});
