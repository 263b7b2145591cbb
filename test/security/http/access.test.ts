import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { connectNats } from '@agentmesh/bus';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { agentManifest, provisionUser, toolManifest } from '@agentmesh/mesh';
import {
  auditRecordSchema,
  createSigner,
  type Event,
  header,
  type StoredAuditRecord,
  signCaller,
  subjects,
} from '@agentmesh/protocol';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { connect, headers as natsHeaders } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { jsonOf } from '../../../libs/cli/src/commands.fixture.ts';
import { loginVariables, natsLogin } from '../../nats-login.ts';
import { lastText } from '../../rest-client.ts';
import { deskApp, whoami } from '../caller/definitions.ts';

const run = promisify(execFile);
const command = new URL('../../../libs/cli/src/main.ts', import.meta.url).pathname;
const app = 'stock_app';
const folder = 'test/security/caller';
/** An agent whose tool, in a process of its own, answers with its caller. */
const deskServices = [
  { manifest: agentManifest(deskApp), folder: `${folder}/agent` },
  { manifest: toolManifest(whoami), folder: `${folder}/tool` },
];

let model: ScriptedGemini;
/** The lines that gateways have written. */
const lines: string[] = [];
let mesh: LocalMesh;
let second: string;
beforeAll(async () => {
  model = await startScriptedGemini({
    script: (request) => {
      const [result] = latestFunctionResponses(request);
      return result ? { text: JSON.stringify(result.response) } : { calls: [{ name: 'whoami', args: {} }] };
    },
  });
  vi.stubEnv('MESH_HTTP_AUTH', 'keys');
  mesh = await launchMesh({
    services: [...samples.filter(({ manifest }) => manifest.name === 'stock_agent'), ...deskServices],
    env: { DESK_MODEL_URL: model.url },
    onLine: (service, line) => void (service === 'gateway' && lines.push(line)),
    model: 'scripted',
  });
  second = (await mesh.start('gateway')).address ?? '';
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

/** Runs `agentmesh keys …` as the operator, and returns what it prints as JSON. */
async function keys<T = unknown>(...words: string[]): Promise<T> {
  const env = {
    ...{ PATH: process.env.PATH, NATS_URL: mesh.natsUrl, ...loginVariables(mesh.login(provisionUser)) },
    REDIS_URL: mesh.redisUrlOf(provisionUser),
  };
  const [printed] = await jsonOf({ env }, ['keys', ...words]);
  return printed as T;
}

/** Makes a key, and returns a function that sends requests with it. */
async function keyFor(name: string, ...words: string[]) {
  const { key } = await keys<{ key: string }>('create', name, ...words);
  return { key, send: sender(key) };
}

const sender =
  (key?: string) =>
  (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    url = mesh.gatewayUrl,
  ) =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });

const runOf = (user: string, session: string, more: object = {}) => ({
  ...{ appName: app, userId: user, sessionId: session },
  newMessage: { parts: [{ text: 'What is the price of GOOG?' }] },
  ...more,
});
const pathOf = (user: string) => `/apps/${app}/users/${user}`;

describe('a caller with an API key', () => {
  it('acts for the user of the key, and for nobody else', async () => {
    const { send } = await keyFor('ann', '--user', 'ann');
    const made = await send('POST', `${pathOf('ann')}/sessions/s1`, {});
    expect(made.status).toBe(200);
    const answered = await send('POST', '/run', runOf('ann', 's1'));
    expect([answered.status, JSON.stringify(await answered.json())]).toEqual([
      200,
      expect.stringContaining('GOOG'),
    ]);
    for (const [method, path, body] of [
      ['GET', `${pathOf('eve')}/sessions`],
      ['DELETE', pathOf('eve')],
      ['GET', `${pathOf('eve')}/export`],
      ['GET', `/debug/trace/session/s1?app_name=${app}&user_id=eve`],
      ['GET', `/dev/apps/${app}/debug/trace/e-1?user_id=eve&session_id=s1`],
      ['POST', '/run', runOf('eve', 's1')],
      ['POST', '/run_sse', runOf('eve', 's1')],
    ] as const) {
      const refused = await send(method, path, body);
      expect([path, refused.status]).toEqual([path, 403]);
      expect(await refused.json()).toMatchObject({
        code: 'permission_denied',
        details: { app, role: 'operator' },
        error: expect.stringContaining('key ann of ann needs the role operator'),
      });
    }
  });

  it('is refused without a key, with a wrong key, and with a changed key', async () => {
    const { key } = await keyFor('changed', '--role', 'operator');
    const changed = `${key.slice(0, 20)}${key[20] === 'a' ? 'b' : 'a'}${key.slice(21)}`;
    for (const [wrong, challenge] of [
      [undefined, 'Bearer realm="agentmesh"'],
      [changed, expect.stringContaining('error="invalid_token"')],
    ] as const) {
      const refused = await sender(wrong)('GET', '/list-apps');
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, challenge]);
      expect(await refused.json()).toMatchObject({ code: 'unauthenticated', traceId: expect.any(String) });
    }
    expect((await sender()('GET', '/health')).status).toBe(200);
    expect((await sender()('GET', '/version')).status).toBe(200);
  });

  it('gets a refusal as a frame if it reads a stream', async () => {
    const refused = await sender()('POST', '/run_sse', runOf('ann', 's1'), { accept: 'text/event-stream' });
    expect([refused.status, refused.headers.get('content-type')]).toEqual([401, 'text/event-stream']);
    expect(await refused.text()).toMatch(/^data: \{"error":.*"code":"unauthenticated"/);
  });

  it('has the same rights at the endpoint for AG-UI', async () => {
    const input = (threadId: string, more: object = {}) => ({
      ...{ threadId, runId: 'r', tools: [], context: [] },
      messages: [{ id: 'm', role: 'user', content: 'What is the price of GOOG?' }],
      ...more,
    });
    const own = await keyFor('ag-ui', '--user', 'ann');
    const approver = await keyFor('ag-ui-approver', '--user', 'max', '--role', 'approver');
    const answered = await own.send('POST', `${pathOf('ann')}/ag-ui`, input('thread'));
    expect([answered.status, await answered.text()]).toEqual([
      200,
      expect.stringContaining('"RUN_FINISHED"'),
    ]);
    for (const [{ send }, user, body, role] of [
      [own, 'eve', input('no-thread'), 'approver'],
      [approver, 'ann', input('no-thread'), 'operator'],
      [approver, 'ann', input('thread'), 'operator'],
      [own, 'ann', input('no-thread', { state: { 'app:a': 1 } }), 'operator'],
    ] as const) {
      const refused = await send('POST', `${pathOf(user)}/ag-ui`, body);
      expect([refused.status, await refused.json()]).toEqual([
        403,
        expect.objectContaining({ details: { app, role } }),
      ]);
    }
    expect((await sender()('POST', `${pathOf('ann')}/ag-ui`, input('no-thread'))).status).toBe(401);
    expect((await own.send('GET', `${pathOf('ann')}/sessions/no-thread`)).status).toBe(404);
  });

  it('sees only the apps in which it has a role', async () => {
    const all = await keyFor('all-apps', '--user', 'ann');
    const other = await keyFor('other-app', '--user', 'ann', '--role', 'bank:user');
    expect(await (await all.send('GET', '/list-apps')).json()).toEqual(['desk_app', app]);
    expect(await (await other.send('GET', '/list-apps')).json()).toEqual([]);
    expect((await other.send('GET', `${pathOf('ann')}/sessions`)).status).toBe(403);
  });

  it('sees the runs, questions and dead letters of the apps alone of which it is an operator', async () => {
    const user = await keyFor('mesh-user', '--user', 'ann');
    const ofApp = await keyFor('mesh-operator', '--role', `${app}:operator`);
    const ofOther = await keyFor('mesh-other', '--role', 'other_app:operator');
    const ofAll = await keyFor('mesh-all', '--role', 'operator');
    await user.send('POST', `${pathOf('ann')}/sessions/seen`, {});
    const answered = await user.send('POST', '/run', runOf('ann', 'seen'));
    const [{ invocationId }] = (await answered.json()) as [{ invocationId: string }];
    const ids = async ({ send }: Awaited<ReturnType<typeof keyFor>>, query = '') => {
      const { runs } = (await (await send('GET', `/mesh/runs${query}`)).json()) as { runs: object[] };
      return runs.map((run) => Reflect.get(run, 'invocationId'));
    };
    expect(await ids(ofApp)).toContain(invocationId);
    expect(await ids(ofAll)).toContain(invocationId);
    expect(await ids(ofOther)).toEqual([]);
    const named = `/mesh/invocations/${invocationId}?app=${app}&user=ann&session=seen`;
    expect((await ofApp.send('GET', named)).status).toBe(200);
    expect((await ofOther.send('GET', named)).status).toBe(403);
    expect((await ofOther.send('GET', `/mesh/invocations/${invocationId}`)).status).toBe(404);
    expect((await ofOther.send('GET', `/mesh/runs?app=${app}`)).status).toBe(403);
    expect((await ofOther.send('GET', `/mesh/pending?app=${app}`)).status).toBe(403);
    for (const path of ['/mesh', '/mesh/runs', '/mesh/pending', '/mesh/dead-letters'])
      expect([path, (await user.send('GET', path)).status]).toEqual([path, 403]);
    await bury({ app, user: 'ann', session: 'seen', message: 'again' }, 'no command of any app');
    const seqs = async ({ send }: Awaited<ReturnType<typeof keyFor>>) => {
      const answer = await send('GET', '/mesh/dead-letters');
      return ((await answer.json()) as { deadLetters: { seq: number }[] }).deadLetters.map(({ seq }) => seq);
    };
    const [letter, unreadable] = await seqs(ofAll);
    expect([await seqs(ofApp), await seqs(ofOther)]).toEqual([[letter], []]);
    for (const [method, path] of [
      ['GET', `${letter}`],
      ['DELETE', `${letter}`],
      ['POST', `${letter}/replay`],
    ] as const)
      expect((await ofOther.send(method, `/mesh/dead-letters/${path}`)).status).toBe(403);
    expect((await ofApp.send('DELETE', `/mesh/dead-letters/${unreadable}`)).status).toBe(403);
    expect((await ofApp.send('DELETE', `/mesh/dead-letters/${letter}`)).status).toBe(200);
    expect((await ofAll.send('DELETE', `/mesh/dead-letters/${unreadable}`)).status).toBe(200);
    expect((await fetch(`${mesh.gatewayUrl}/console`)).status).toBe(200);
  });

  it('changes state of all users, and imports events, only as an operator', async () => {
    const user = await keyFor('writer', '--user', 'ann');
    const operator = await keyFor('operator', '--role', `${app}:operator`);
    await user.send('POST', `${pathOf('ann')}/sessions/shared`, {});
    const event = { id: 'e', invocationId: 'e-1', author: 'user', timestamp: 1, actions: {} };
    const sessions = `${pathOf('ann')}/sessions`;
    for (const [method, path, body] of [
      ['POST', sessions, { state: { 'app:a': 1 } }],
      ['POST', `${sessions}/n1`, { state: { 'app:a': 1 } }],
      ['POST', `${sessions}/n2`, { 'app:a': 1 }],
      ['PATCH', `${sessions}/shared`, { stateDelta: { 'app:a': 1 } }],
      ['POST', '/run', runOf('ann', 'shared', { stateDelta: { 'app:a': 1 } })],
      ['POST', '/run_sse', runOf('ann', 'shared', { state_delta: { 'app:a': 1 } })],
      ['POST', sessions, { events: [event] }],
      ['POST', `${sessions}/n3`, { state: {}, events: [event] }],
    ] as const) {
      expect([path, body, (await user.send(method, path, body)).status]).toEqual([path, body, 403]);
      const allowed = await operator.send(method, path, body);
      await allowed.text();
      expect([path, body, allowed.status]).toEqual([path, body, 200]);
    }
    const own = await user.send('PATCH', `${sessions}/shared`, { stateDelta: { 'user:a': 1, b: 2 } });
    expect(await own.json()).toMatchObject({ state: { 'app:a': 1, 'user:a': 1, b: 2 } });
  });
});

describe('the caller', () => {
  it('is known to a tool in another process, with the roles in its app, and not to a run over NATS', async () => {
    const { send } = await keyFor(
      'desk',
      '--user',
      'ann',
      '--role',
      'user',
      '--role',
      'desk_app:manager',
      '--role',
      'bank:admin',
    );
    await send('POST', '/apps/desk_app/users/ann/sessions/w', {});
    const body = {
      appName: 'desk_app',
      userId: 'ann',
      sessionId: 'w',
      newMessage: { parts: [{ text: 'who?' }] },
    };
    const events = (await (await send('POST', '/run', body)).json()) as Event[];
    const wanted = {
      via: 'keys',
      roles: ['user', 'desk_app:manager', 'manager', 'bank:admin'],
      user: 'ann',
      key: 'desk',
    };
    expect(JSON.parse(lastText(events))).toEqual({ caller: wanted });

    const outside = await connect({
      servers: mesh.natsUrl,
      inboxPrefix: subjects().inboxPrefix('client'),
      ...natsLogin(mesh.login('client')),
    });
    const reply = await outside.request(subjects().agentAsk('desk'), JSON.stringify({ message: 'who?' }), {
      timeout: 20_000,
    });
    expect(reply.json()).toMatchObject({ text: '{"caller":"nobody"}' });
    const forged = await createSigner();
    const work = { appName: 'desk_app', userId: 'ann', invocationId: 'e-forged' };
    const headers = natsHeaders();
    headers.set(header.identity, await signCaller(forged, work, { via: 'keys', roles: ['admin'] }));
    const command = { invocationId: 'e-forged', app: 'desk_app', user: 'ann', session: 'w', message: 'who?' };
    await outside.request(subjects().agentRun('desk', 'w'), JSON.stringify(command), {
      headers,
      timeout: 20_000,
    });
    await outside.close();
    const invocation = '/apps/desk_app/users/ann/sessions/w/invocations/e-forged';
    await until(async () => (await send('GET', invocation)).status === 200, { what: 'the forged run' });
    await until(
      async () => ((await (await send('GET', invocation)).json()) as { status: string }).status === 'failed',
      {
        what: 'the end of the forged run',
      },
    );
    expect(await (await send('GET', invocation)).json()).toMatchObject({
      error: { code: 'permission_denied' },
    });
  });
});

/** Returns the audit records in the order of their decisions. */
async function auditRecords(): Promise<StoredAuditRecord[]> {
  const operator = await connect({ servers: mesh.natsUrl, ...natsLogin(mesh.login(provisionUser)) });
  try {
    const { auditStream } = subjects();
    const info = await operator.request(`$JS.API.STREAM.INFO.${auditStream}`, '', { timeout: 5_000 });
    const { last_seq: last } = info.json<{ state: { last_seq: number } }>().state;
    const records: StoredAuditRecord[] = [];
    for (let seq = 1; seq <= last; seq += 1) {
      const read = await operator.request(`$JS.API.STREAM.MSG.GET.${auditStream}`, JSON.stringify({ seq }));
      const { message } = read.json<{ message: { data: string } }>();
      records.push(auditRecordSchema.parse(JSON.parse(Buffer.from(message.data, 'base64').toString())));
    }
    return records;
  } finally {
    await operator.close();
  }
}

/** Puts runs into the dead letters, as a replica does. */
async function bury(...payloads: unknown[]): Promise<void> {
  const service = 'agent_stock_agent';
  const names = subjects();
  await using bus = await connectNats({ url: mesh.natsUrl, service, cards: false, ...mesh.login(service) });
  for (const payload of payloads)
    await bus.enqueue(
      names.dead('agent', 'stock_agent'),
      {
        ...{ subject: names.agentRun('stock_agent', 'seen'), payload, headers: {}, attempts: 6 },
        ...{ error: { code: 'internal', message: 'it failed' }, replica: service, time: Date.now() },
      },
      { messageId: randomUUID() },
    );
}

describe('the records for the operator', () => {
  it('hold who did what from where: runs, deletions, exports, imports, keys and refusals', async () => {
    const { key, send } = await keyFor('recorded', '--user', 'rae');
    const operator = await keyFor('recorder', '--role', 'operator');
    const session = `${pathOf('rae')}/sessions/r1`;
    const event = { id: 'e', invocationId: 'e-1', author: 'user', timestamp: 1, actions: {} };
    await send('POST', session, {});
    const answered = await send('POST', '/run', runOf('rae', 'r1'));
    const invocationId = answered.headers.get('x-invocation-id');
    await answered.text();
    await (await send('GET', `${pathOf('rae')}/export`)).text();
    expect((await send('GET', `${pathOf('rae')}/export?a=secret-in-query`)).status).toBe(400);
    await operator.send('POST', `${pathOf('rae')}/sessions/r2`, { events: [event] });
    for (let count = 0; count < 3; count += 1) await send('GET', `${pathOf('eve')}/sessions`);
    await sender(`${key}x`)('DELETE', session);
    await send('DELETE', session);
    await keys('revoke', 'recorded');

    const rae = { caller: { via: 'keys', user: 'rae', key: 'recorded' }, address: '127.0.0.1' };
    const ref = { appName: app, userId: 'rae' };
    const wanted = [
      { decision: 'accepted', action: 'key', key: 'create recorded', service: 'operator' },
      { ...rae, decision: 'accepted', action: 'run', session: { ...ref, sessionId: 'r1' }, invocationId },
      { ...rae, decision: 'accepted', action: 'export', request: `GET ${pathOf('rae')}/export`, status: 200 },
      { decision: 'accepted', action: 'import', session: { ...ref, sessionId: 'r2' }, service: 'gateway' },
      {
        ...rae,
        decision: 'refused',
        action: 'request',
        status: 403,
        request: `GET ${pathOf('eve')}/sessions`,
        reason: expect.stringContaining('eve'),
      },
      {
        decision: 'refused',
        action: 'delete',
        status: 401,
        address: '127.0.0.1',
        request: `DELETE ${session}`,
        reason: expect.any(String),
      },
      { ...rae, decision: 'accepted', action: 'delete', status: 200, request: `DELETE ${session}` },
      { decision: 'accepted', action: 'key', key: 'revoke recorded', service: 'operator' },
    ];
    const about = async () =>
      (await auditRecords()).filter(
        ({ caller, key: act = '', request = '', session: of }) =>
          caller?.key === 'recorded' ||
          act.endsWith(' recorded') ||
          request.includes('/r1') ||
          of?.sessionId === 'r2',
      );
    await until(async () => (await about()).length >= wanted.length, { what: 'all records' });
    const found = await about();
    for (const record of wanted) expect(found).toContainEqual(expect.objectContaining(record));
    expect(found).toHaveLength(wanted.length);
  });

  it('hold what is refused before its route is looked at, and the access log has unknown addresses', async () => {
    const { port } = new URL(mesh.gatewayUrl);
    const path = `${pathOf('zoe')}/sessions/host`;
    const sent = httpRequest({
      port,
      host: '127.0.0.1',
      method: 'DELETE',
      path,
      headers: { host: 'evil.example' },
    });
    const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(403);
    const refused = async () => (await auditRecords()).find(({ request = '' }) => request.includes('/zoe/'));
    expect(await until(refused, { what: 'the record' })).toMatchObject({
      ...{ decision: 'refused', action: 'delete', status: 403, address: '127.0.0.1' },
      ...{ request: `DELETE ${path}`, reason: expect.stringContaining('evil.example') },
    });
    await fetch(`${mesh.gatewayUrl}/nowhere/secret-in-path`, { method: 'POST', body: '{' });
    const line = await until(
      () => lines.find((each) => each.includes('"msg":"request"') && !each.includes('"route"')),
      { what: 'the line of the unknown address' },
    );
    expect(JSON.parse(line)).toMatchObject({ method: 'POST', status: 404, address: '127.0.0.1' });
    expect(line).not.toContain('secret-in-path');
  });

  it('are lines of the access log too, and no line of a gateway holds a key or a query', async () => {
    const { key, send } = await keyFor('logged', '--user', 'lea');
    const lineOf = (route: string) =>
      until(() => lines.find((each) => each.includes('"lea"') && each.includes(`"route":"${route}"`)), {
        what: 'the line of the request',
      });
    await (await send('GET', `${pathOf('lea')}/sessions?limit=7`)).text();
    const line = await lineOf('/apps/:app/users/:user/sessions');
    await send('POST', `${pathOf('lea')}/sessions/timed`, {});
    await (await send('POST', '/run', runOf('lea', 'timed'))).text();
    expect(JSON.parse(await lineOf('/run')).ms).toBeGreaterThan(0);
    expect(JSON.parse(line)).toMatchObject({
      ...{ level: 'info', method: 'GET', route: '/apps/:app/users/:user/sessions', status: 200 },
      ...{ caller: { via: 'keys', user: 'lea', key: 'logged' }, address: '127.0.0.1' },
      ...{ ms: expect.any(Number), traceId: expect.any(String) },
    });
    for (const each of lines) {
      expect(each).not.toContain(key.slice(4, 30));
      expect(each).not.toContain('secret-in-query');
      expect(each).not.toContain('limit=7');
    }
  });
});

describe('the command', () => {
  it('talks to the gateway with the key of its environment', async () => {
    const { key } = await keyFor('talker', '--user', 'dev');
    const ask = (more: Record<string, string>) =>
      run(process.execPath, [command, 'ask', app, 'What is the price of GOOG?'], {
        env: { PATH: process.env.PATH, MESH_GATEWAY_URL: mesh.gatewayUrl, ...more },
      });
    expect((await ask({ MESH_GATEWAY_KEY: key })).stdout).toContain('GOOG');
    await expect(ask({})).rejects.toMatchObject({ stderr: expect.stringContaining('send an API key') });
  });
});

describe('the keys', () => {
  it('are listed without the key itself, with their roles, users, ends and uses', async () => {
    const { key, send } = await keyFor(
      'listed',
      '--user',
      'eve',
      '--role',
      'user',
      '--role',
      'shop:operator',
      '--expires',
      '90d',
    );
    type Listed = { name: string; usedAt?: number; expiresAt: number };
    const listed = async () => (await keys<Listed[]>('list')).find(({ name }) => name === 'listed');
    expect(await listed()).toMatchObject({ user: 'eve', roles: ['user', 'shop:operator'] });
    expect((await listed())?.expiresAt).toBeGreaterThan(Date.now() + 89 * 86_400_000);
    await send('GET', '/list-apps');
    await until(async () => (await listed())?.usedAt !== undefined, { what: 'the use of the key' });
    expect(JSON.stringify(await keys('list'))).not.toContain(key.slice(4, 30));
  });

  it('are not in Redis, but their hashes', async () => {
    const { key } = await keyFor('hashed', '--role', 'operator');
    const redis = new Redis(mesh.redisUrl);
    const stored = await redis.hgetall('am:api-key:records');
    redis.disconnect();
    expect(JSON.stringify(stored)).toContain('hashed');
    expect(JSON.stringify(stored)).not.toContain(key.slice(4, 30));
  });

  it('end at every gateway within a second of their revocation', async () => {
    const { send } = await keyFor('leaked', '--role', 'operator');
    const statuses = () =>
      Promise.all(
        [mesh.gatewayUrl, second].map(
          async (url) => (await send('GET', '/list-apps', undefined, {}, url)).status,
        ),
      );
    expect(await statuses()).toEqual([200, 200]);
    expect(await keys('revoke', 'leaked')).toEqual({ revoked: 'leaked' });
    await until(async () => (await statuses()).every((status) => status === 401), {
      timeoutMs: 1_000,
      what: '401 at both',
    });
    await expect(keys('revoke', 'leaked')).rejects.toThrow(/there is no key leaked/);
  });

  it('end at their time', async () => {
    const { send } = await keyFor('short', '--role', 'operator', '--expires', '1m');
    expect((await send('GET', '/list-apps')).status).toBe(200);
    const redis = new Redis(mesh.redisUrl);
    const records = await redis.hgetall('am:api-key:records');
    const [hash = '', json = ''] = Object.entries(records).find(([, text]) => text.includes('"short"')) ?? [];
    // A minute is over.
    await redis.hset(
      'am:api-key:records',
      hash,
      JSON.stringify({ ...JSON.parse(json), expiresAt: Date.now() }),
    );
    redis.disconnect();
    const refused = await send('GET', '/list-apps');
    expect([refused.status, ((await refused.json()) as { error: string }).error]).toEqual([
      401,
      expect.stringContaining('short has expired'),
    ]);
    expect(await keys('list')).toContainEqual(expect.objectContaining({ name: 'short' }));
  });

  it('have a name of their own', async () => {
    await keyFor('twice', '--role', 'operator');
    await expect(keys('create', 'twice', '--role', 'operator')).rejects.toThrow(/there is a key twice/);
  });

  it.each([
    [['create', 'a b', '--user', 'ann'], /the name of a key/],
    [['create', 'nobody'], /name this user with --user/],
    [['create', 'late', '--user', 'ann', '--expires', 'soon'], /--expires is such as/],
    [['create', 'odd', '--user', 'ann', '--role', 'a b'], /a role is such as/],
    [['create', 'odd', '--user', 'ann', '--role', 'bogus'], /roles are user, approver, operator, admin/],
    [['create', 'odd', '--role', 'shop:bogus'], /roles are user, approver, operator, admin/],
  ])('are not made of wrong words: %j', async (words, message) => {
    await expect(keys(...words)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(message),
    });
  });
});
