import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import type { Sample } from '@agentmesh/deploy/samples';
import { agentManifest, provisionUser, toolManifest } from '@agentmesh/mesh';
import {
  latestFunctionResponses,
  latestUserText,
  type ScriptedGemini,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';
import { connect } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loginVariables, natsLogin } from '../nats-login.ts';
import { restClient } from '../rest-client.ts';
import { assistant, desk, keeper, slow } from './privacy/definitions.ts';
import { redisValues } from './sign-in/redis-values.ts';

const root = join(import.meta.dirname, '../..');
const folder = 'test/scenarios/privacy';
const services: Sample[] = [
  { manifest: agentManifest(new App({ name: 'keeper_app', rootAgent: keeper })), folder: `${folder}/keeper` },
  { manifest: agentManifest(assistant), folder: `${folder}/assistant` },
  { manifest: toolManifest(desk), folder: `${folder}/desk` },
  { manifest: toolManifest(slow), folder: `${folder}/slow` },
];
const app = 'keeper_app';

let model: ScriptedGemini;
let mesh: LocalMesh;
let redis: Redis;
let client: ReturnType<typeof restClient>;
let out: string;
const lines: string[] = [];

beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), 'agentmesh-privacy-'));
  model = await startScriptedGemini({
    script: (request) => {
      if (latestFunctionResponses(request).length > 0) return { text: 'done' };
      const name = latestUserText(request);
      if (name === 'chat') return { text: 'hello' };
      return { calls: [{ name, args: name === 'assistant' ? { request: 'desk' } : {} }] };
    },
  });
  mesh = await launchMesh({
    services,
    env: { MODEL_URL: model.url, PACE_MS: '50' },
    onLine: (_service, line) => lines.push(line),
  });
  redis = new Redis(mesh.redisUrl);
  client = restClient(mesh.gatewayUrl);
}, 60_000);
afterAll(async () => {
  redis?.disconnect();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
  await rm(out, { recursive: true, force: true });
});

const path = (userId: string) => `/apps/${app}/users/${userId}`;

/** Makes all kinds of data for a user. */
async function live(userId: string): Promise<string> {
  const session = await client.createSession(app, userId, { started: userId });
  for (const text of ['chat', 'desk', 'assistant', 'slow', 'wipe'])
    await client.events(app, session, text, { userId });
  const pending = await client.send('GET', `${path(userId)}/pending`);
  expect(((await pending.json()) as { pending: unknown[] }).pending).toHaveLength(2);
  return session;
}

/** Runs the operators' command, without the keys that open credentials. */
function command(...words: string[]) {
  const env = {
    PATH: process.env.PATH,
    NATS_URL: mesh.natsUrl,
    REDIS_URL: mesh.redisUrl,
    ...loginVariables(mesh.login(provisionUser)),
  };
  const child = spawn(process.execPath, ['libs/cli/src/main.ts', ...words], { cwd: root, env });
  const said = { out: '', err: '' };
  child.stdout.on('data', (data) => {
    said.out += data;
  });
  child.stderr.on('data', (data) => {
    said.err += data;
  });
  const ended = new Promise<typeof said & { code: number | null }>((resolve) =>
    child.on('close', (code) => resolve({ ...said, code })),
  );
  return { child, ended };
}

const traces = async (text: string) => (await redisValues(redis)).filter((value) => value.includes(text));

interface Stream {
  config: { name: string };
  state: { first_seq: number; last_seq: number };
}

interface StoredMessage {
  subject: string;
  data?: string;
  hdrs?: string;
}

/** Finds a text in the subjects and messages of all NATS streams. */
async function natsTraces(text: string): Promise<string[]> {
  const connection = await connect({ servers: mesh.natsUrl, ...natsLogin(mesh.login(provisionUser)) });
  const ask = async <T>(subject: string, body: object) =>
    (await connection.request(`$JS.API.${subject}`, JSON.stringify(body))).json<T>();
  const { streams } = await ask<{ streams: Stream[] }>('STREAM.LIST', {});
  const found: string[] = [];
  // Audit records stay for 90 days, also after a deletion (docs/privacy.md).
  for (const { config, state } of streams.filter(({ config }) => !config.name.endsWith('_AUDIT'))) {
    for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
      const { message } = await ask<{ message?: StoredMessage }>(`STREAM.MSG.GET.${config.name}`, { seq });
      const { subject = '', data = '', hdrs = '' } = message ?? {};
      const content = [data, hdrs].map((base64) => Buffer.from(base64, 'base64').toString());
      if ([subject, ...content].some((each) => each.includes(text))) found.push(subject);
    }
  }
  await connection.close();
  return found;
}

const jsonLines = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('the data of a user', () => {
  it('are exported by the command, and imported again as sessions', async () => {
    const session = await live('annika7');
    const { code, err } = await command('user', 'export', app, 'annika7', join(out, 'annika7')).ended;
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const text = await readFile(join(out, 'annika7/records.jsonl'), 'utf8');
    expect(text).not.toContain('SECRET');
    const records = jsonLines(text);
    const of = (kind: string) => records.filter((record) => record.kind === kind);
    expect(of('credential')).toEqual([{ kind: 'credential', credentialKey: 'maps', authType: 'apiKey' }]);
    expect(of('pending')).toHaveLength(2);
    expect(of('memory').length).toBeGreaterThan(0);
    expect(
      of('session')
        .map(({ hidden }) => hidden)
        .sort(),
    ).toEqual([false, true]);
    for (const { file } of of('artifact'))
      expect(await readFile(join(out, 'annika7', String(file)), 'utf8')).toBe('of annika7');
    expect((await stat(join(out, 'annika7/records.jsonl'))).mode & 0o077).toBe(0);
    const body = JSON.parse(await readFile(join(out, `annika7/sessions/${session}.json`), 'utf8'));
    const made = await client.send('POST', `${path('annex')}/sessions`, body);
    expect(made.status).toBe(200);
    const copy = (await made.json()) as { events: object[]; state: object };
    expect(copy.events.slice(0, body.events.length)).toEqual(body.events);
    expect(copy.state).toMatchObject({ started: 'annika7', note: 'annika7' });
    const again = await command('user', 'export', app, 'annika7', join(out, 'annika7')).ended;
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('is not empty') });
    await client.send('DELETE', path('annex'));
  });

  it('are exported by the gateway, line by line', async () => {
    const response = await client.send('GET', `${path('annika7')}/export`);
    expect(response.headers.get('content-type')).toContain('ndjson');
    const records = jsonLines(await response.text());
    expect(records.at(-1)).toMatchObject({ kind: 'end', counts: { session: 2, pending: 2, credential: 1 } });
    const [artifact] = records.filter(({ kind }) => kind === 'artifact');
    expect(await (await client.send('GET', String(artifact?.content))).text()).toBe('of annika7');
  });

  it('are deleted for good, while those of another user stay', async () => {
    await live('robert');
    const before = await (await client.send('GET', `${path('robert')}/export`)).text();
    expect(await traces('annika7')).not.toEqual([]);
    expect(await command('user', 'delete', app, 'annika7').ended).toMatchObject({
      code: 1,
      err: expect.stringContaining('--yes'),
    });
    const { code, out: counts, err } = await command('user', 'delete', app, 'annika7', '--yes').ended;
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(counts)).toMatchObject({
      ...{ sessions: 2, artifacts: 2, credentials: 1, pending: 2, stateKeys: 1, complete: true },
      ...{ events: expect.any(Number), memories: expect.any(Number), callResults: expect.any(Number) },
    });
    expect(JSON.parse(counts).callResults).toBeGreaterThanOrEqual(3);
    // The worker of the job checks it once per second.
    await until(async () => (await traces('annika7')).length === 0, { what: 'the last trace in Redis' });
    const inQueues = async () =>
      (await natsTraces('annika7')).filter((subject) => !subject.includes('.dead.'));
    await until(async () => (await inQueues()).length === 0, { what: 'the last message in NATS' });
    expect(await natsTraces('annika7')).toEqual([]);
    const after = await (await client.send('GET', `${path('robert')}/export`)).text();
    // The job of the other user continues.
    const moving = ['user', 'session', 'end'];
    const steady = (text: string) => jsonLines(text).filter(({ kind }) => !moving.includes(String(kind)));
    expect(steady(after)).toEqual(expect.arrayContaining(steady(before)));
    const gone = await client.send('DELETE', path('annika7'));
    expect(await gone.json()).toMatchObject({ sessions: 0, events: 0, callResults: 0, complete: true });
  });

  it('are deleted during runs', async () => {
    const sessions = await Promise.all(Array.from({ length: 3 }, () => client.createSession(app, 'carl')));
    const runs = sessions.flatMap((session) =>
      ['slow', 'desk', 'assistant', 'chat'].map((text) =>
        client.run(app, session, text, { userId: 'carl' }).then((response) => response.text()),
      ),
    );
    await until(async () => (await traces('carl')).length > 8);
    const response = await client.send('DELETE', path('carl'));
    expect(response.status).toBe(200);
    await Promise.all(runs);
    // Runs from the queue of NATS have come meanwhile, and found no session.
    const again = await client.send('DELETE', path('carl'));
    expect(await again.json()).toMatchObject({ sessions: 0, events: 0, complete: true });
    await until(async () => (await traces('carl')).length === 0, { what: 'the last trace in Redis' });
    // A cancelled job leaves its queue when its worker has stopped.
    const isClean = async () => {
      // The error names the subjects of the traces.
      expect(await natsTraces('carl')).toEqual([]);
      return true;
    };
    await until(isClean, { what: 'the end of the last trace in NATS' });
  });

  it('are deleted by a second command when the first was killed half way', async () => {
    const events = Array.from({ length: 2_000 }, (_, n) => ({
      ...{ id: `x-${n}`, invocationId: `e-${n}`, author: 'keeper', timestamp: Date.now(), actions: {} },
      content: { role: 'model', parts: [{ functionCall: { id: `c-${n}`, name: 'desk', args: { n } } }] },
    }));
    for (const sessionId of ['one', 'two', 'three']) {
      const made = await client.send('POST', `${path('dora')}/sessions`, { sessionId, events });
      expect(made.status).toBe(200);
    }
    await client.events(app, 'one', 'desk', { userId: 'dora' });
    const { child, ended } = command('user', 'delete', app, 'dora', '--yes');
    const isGone = async () => (await client.send('GET', `${path('dora')}/sessions/three`)).status === 404;
    await until(isGone, { what: 'the third session to be deleted', timeoutMs: 30_000 });
    child.kill('SIGKILL');
    await ended;
    expect(await traces('dora')).not.toEqual([]);
    const { out: counts } = await command('user', 'delete', app, 'dora', '--yes').ended;
    expect(JSON.parse(counts)).toMatchObject({ complete: true });
    expect(await traces('dora')).toEqual([]);
    expect(await natsTraces('dora')).toEqual([]);
    expect(await readdir(out)).toEqual(['annika7']);
  });
});
