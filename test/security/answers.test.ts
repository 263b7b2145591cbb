import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { getFunctionResponses } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import {
  type AddressedCall,
  agentManifest,
  createCallers,
  memoryCallerKeys,
  provisionUser,
  toolManifest,
} from '@agentmesh/mesh';
import {
  type AnsweredBy,
  type Event,
  type Headers,
  type StoredAuditRecord,
  subjects,
} from '@agentmesh/protocol';
import { connectRedisStore } from '@agentmesh/store';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { connect, credsAuthenticator, headers as natsHeaders } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { natsLogin } from '../nats-login.ts';
import { cashApp, scan } from './answers/definitions.ts';

const app = cashApp.name;
const user = 'ann';
const names = subjects();
const folder = 'test/security/answers';
const command = join(import.meta.dirname, '../../libs/cli/src/main.ts');
const dataDir = mkdtempSync(join(tmpdir(), 'agentmesh-answers-'));
/** The source that the attackers claim. */
const claimed: AnsweredBy = { by: 'the_boss', via: 'http', service: 'gateway', roles: ['manager', 'admin'] };
const unknown = { by: 'unknown', via: 'nats' };

let model: ScriptedGemini;
let mesh: LocalMesh;
/** The file with the credentials of a publisher that has joined. */
let publisher: string;

beforeAll(async () => {
  model = await startScriptedGemini({
    script: (request) => {
      if (latestFunctionResponses(request).length > 0) return { text: 'done' };
      return { calls: [{ name: request.contents.at(-1)?.parts?.[0]?.text ?? '', args: {} }] };
    },
  });
  vi.stubEnv('MESH_HTTP_AUTH', 'proxy');
  vi.stubEnv('MESH_HTTP_PERSON_HEADER', 'X-Forwarded-User');
  vi.stubEnv('MESH_HTTP_ROLES_HEADER', 'X-Forwarded-Groups');
  mesh = await launchMesh({
    services: [
      { manifest: agentManifest(cashApp), folder: `${folder}/agent` },
      { manifest: toolManifest(scan), folder: `${folder}/tool` },
    ],
    env: { MODEL_URL: model.url },
    ...{ joinable: true, dataDir },
  });
  const words = ['join', 'evil_pub', '--kind', 'publisher', '--agents', 'cashier', '--json'];
  const env = {
    PATH: process.env.PATH,
    NATS_URL: mesh.natsUrl,
    REDIS_URL: mesh.redisUrl,
    MESH_KEYS: mesh.keys,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [command, ...words], { env });
  publisher = (JSON.parse(stdout) as { creds: string }).creds;
}, 120_000);
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Sends a request as the proxy sends it for a person. */
async function send<T>(
  method: string,
  path: string,
  body?: object,
  person = user,
  roles = 'user',
): Promise<T> {
  const response = await fetch(`${mesh.gatewayUrl}${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...{ 'x-forwarded-user': person, 'x-forwarded-groups': roles },
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return (await response.json()) as T;
}

const pathOf = (session: string) => `/apps/${app}/users/${user}/sessions/${session}`;

/** Makes a session in which a call of a tool waits. */
async function asked(name: string) {
  const { id: session } = await send<{ id: string }>('POST', `/apps/${app}/users/${user}/sessions`);
  const say = (parts: unknown[], ...person: string[]) =>
    send<Event[] & { code?: string }>(
      'POST',
      '/run',
      { appName: app, userId: user, sessionId: session, newMessage: { role: 'user', parts } },
      ...person,
    );
  await say([{ text: name }]);
  const { pending } = await send<{ pending: AddressedCall[] }>('GET', `${pathOf(session)}/pending`);
  const [call] = pending;
  const response = { confirmed: true };
  const parts = [{ functionResponse: { id: call?.id, name: call?.name, response } }];
  const events = async () => (await send<{ events: Event[] }>('GET', pathOf(session))).events;
  return {
    ...{ session, call, parts, say, events },
    /** The command of the attack. */
    run: { app, user, session, message: { role: 'user', parts }, answeredBy: claimed },
    isDone: async () =>
      (await events()).flatMap(getFunctionResponses).some(({ response: given }) => given?.done === name),
    isOpen: async () =>
      (await send<{ pending: AddressedCall[] }>('GET', `${pathOf(session)}/pending`)).pending.length > 0,
    /** The sources in the log of the session. */
    sources: async () => (await events()).flatMap(({ customMetadata }) => customMetadata?.answeredBy ?? []),
  };
}

/** Publishes to the runs of the agent, with the credentials of a file or of a service. */
async function publish(login: string, inbox: string, subject: string, body: object, more: Headers = {}) {
  const connection = await connect({
    ...{ servers: mesh.natsUrl, inboxPrefix: names.inboxPrefix(inbox) },
    authenticator: credsAuthenticator(readFileSync(login)),
  });
  const headers = natsHeaders();
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
  await connection.request(subject, JSON.stringify(body), { headers, timeout: 10_000 });
  await connection.close();
}

const credsOf = (service: string) => mesh.login(service).credsFile ?? '';

/** Returns the decisions of the agent about a call. */
async function decisionsAbout(callId = ''): Promise<StoredAuditRecord[]> {
  const operator = await connect({
    ...{ servers: mesh.natsUrl, inboxPrefix: names.inboxPrefix(provisionUser) },
    ...natsLogin(mesh.login(provisionUser)),
  });
  const ask = async <T>(verb: string, body: object = {}) =>
    (await operator.request(`$JS.API.STREAM.${verb}.${names.auditStream}`, JSON.stringify(body))).json<T>();
  const { state } = await ask<{ state: { last_seq: number } }>('INFO');
  const records = Array.from({ length: state.last_seq }, async (_, at) => {
    const { message } = await ask<{ message: { data: string } }>('MSG.GET', { seq: at + 1 });
    return JSON.parse(Buffer.from(message.data, 'base64').toString()) as StoredAuditRecord;
  });
  const all = await Promise.all(records);
  await operator.close();
  return all.filter(({ callIds, service }) => callIds.includes(callId) && service === 'agent_cashier');
}

const byAgent = (): [creds: string, inbox: string] => [credsOf('agent_cashier'), 'agent_cashier'];
const attackers: [string, () => [creds: string, inbox: string]][] = [
  ['a publisher that has joined', () => [publisher, 'publisher_evil_pub']],
  ['the credentials of the agent', byAgent],
];

describe.each(attackers)('a run command that claims a person at the gateway, sent with %s', (_who, login) => {
  it('does not answer a confirmation that a manager must give; a manager at the gateway does', async () => {
    const { call, session, run, isDone, isOpen, say, parts, sources } = await asked('pay');
    await publish(...login(), names.agentRun('cashier', session), run);
    await until(async () => (await decisionsAbout(call?.id)).length === 1, { what: 'the refusal' });
    const [refusal] = await decisionsAbout(call?.id);
    expect(refusal).toMatchObject({ decision: 'refused', reason: expect.stringContaining('role manager') });
    expect(refusal?.answeredBy).toEqual(unknown);
    expect([await isDone(), await isOpen()]).toEqual([false, true]);
    await say(parts, 'eve', 'approver, manager');
    expect(await isDone()).toBe(true);
    const source = { by: 'eve', via: 'rest', service: 'gateway', roles: ['approver', 'manager', 'user'] };
    expect(await sources()).toEqual([source]);
    await until(async () => (await decisionsAbout(call?.id)).length === 2, { what: 'the acceptance' });
    expect((await decisionsAbout(call?.id))[1]).toMatchObject({ decision: 'accepted', answeredBy: source });
  });

  it('answers any other confirmation as an unknown person', async () => {
    const { call, session, run, isDone, sources } = await asked('book');
    await publish(...login(), names.agentRun('cashier', session), run);
    await until(isDone, { what: 'the booking' });
    expect(await sources()).toEqual([unknown]);
    await until(async () => (await decisionsAbout(call?.id)).length === 1, { what: 'the acceptance' });
    expect((await decisionsAbout(call?.id))[0]?.answeredBy).toEqual(unknown);
  });
});

describe('a signed source', () => {
  const manager: AnsweredBy = { by: 'the_boss', via: 'rest', service: 'gateway', roles: ['manager'] };

  it('of a key that nobody stored, or of the agent, vouches for no person at the gateway', async () => {
    const { call, session, run, isDone, isOpen } = await asked('pay');
    const work = { appName: app, userId: user, sessionId: session, message: run.message };
    await using store = await connectRedisStore({ url: mesh.redisUrlOf('agent_cashier') });
    const agent = createCallers(store.callerKeys);
    await expect(
      agent.signSource('gateway', { ...work, invocationId: 'e-0' }, manager),
    ).rejects.toMatchObject({ code: 'permission_denied' });
    const headers = [
      await createCallers(memoryCallerKeys()).signSource(
        'gateway',
        { ...work, invocationId: 'e-1' },
        manager,
      ),
      await agent.signSource('agent', { ...work, invocationId: 'e-2' }, manager),
    ];
    for (const [at, header] of headers.entries()) {
      const forged = { ...run, invocationId: `e-${at + 1}` };
      await publish(...byAgent(), names.agentRun('cashier', session), forged, header);
      await until(async () => (await decisionsAbout(call?.id)).length === at + 1, { what: 'the refusal' });
    }
    const decisions = await decisionsAbout(call?.id);
    expect(decisions.map(({ decision, answeredBy }) => [decision, answeredBy])).toEqual([
      ['refused', unknown],
      ['refused', unknown],
    ]);
    expect([await isDone(), await isOpen()]).toEqual([false, true]);
  });
});

describe('an answer that an agent accepts', () => {
  it('as an update has its publisher, its person and the roles', async () => {
    const { call, isDone, sources } = await asked('pay');
    const update = { final: true, response: { confirmed: true }, by: 'eve', roles: ['manager'] };
    await publish(credsOf('client'), 'client', call?.operationSubject ?? '', update);
    await until(isDone, { what: 'the payment' });
    expect(await sources()).toEqual([{ by: 'eve', via: 'nats', service: 'client', roles: ['manager'] }]);
  });

  it('as the outcome of a job has the tool', async () => {
    const { isDone, sources } = await asked('scan');
    await until(isDone, { what: 'the end of the job', timeoutMs: 20_000 });
    expect(await sources()).toEqual([{ by: 'scan', via: 'job', service: 'tool_scan' }]);
  });

  it('because nobody answered in time says so', async () => {
    const { sources, isDone } = await asked('hold');
    await until(async () => (await sources()).length > 0, { what: 'the deadline', timeoutMs: 30_000 });
    expect(await sources()).toEqual([{ by: 'cashier', via: 'deadline' }]);
    expect(await isDone()).toBe(false);
  });
});
