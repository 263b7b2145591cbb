import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import type { AddressedCall } from '@agentmesh/mesh';
import { type Event, keys, subjects } from '@agentmesh/protocol';
import { endProcess, spawnGuarded, until } from '@agentmesh/testing';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runDocCommands } from '../doc-commands.ts';
import { lastText, restClient } from '../rest-client.ts';

const app = 'reimbursement_app';
const user = 'u1';
const root = join(import.meta.dirname, '../..');
const approver = 'docs/examples/approve.mjs';
const names = subjects();
const dataDir = mkdtempSync(join(tmpdir(), 'agentmesh-reimbursement-'));

let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
let redis: Redis;
let nats: NatsConnection;

beforeAll(async () => {
  const needed = ['reimbursement_agent', 'ask_for_approval', 'reimburse'];
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => needed.includes(manifest.name)),
    model: 'scripted',
    // As npm start does: programs log in with files of credentials.
    ...{ joinable: true, dataDir },
  });
  client = restClient(mesh.gatewayUrl);
  redis = new Redis(mesh.redisUrl);
  nats = await connect({ inboxPrefix: names.inboxPrefix('client'), ...loginOf('client') });
});
afterAll(async () => {
  redis?.disconnect();
  await nats?.close();
  await mesh?.[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true, force: true });
});

function loginOf(service: string) {
  const { credsFile = '' } = mesh.login(service);
  return { servers: mesh.natsUrl, authenticator: credsAuthenticator(readFileSync(credsFile)) };
}

/** Returns all payments for the calls of a session. */
async function paymentsIn(events: Event[]): Promise<unknown[]> {
  const calls = new Set(events.flatMap(getFunctionCalls).map(({ id }) => id));
  const all = Object.entries(await redis.hgetall(keys().own('tool_reimburse', 'payments')));
  return all.filter(([callId]) => calls.has(callId)).map(([, payment]) => JSON.parse(payment));
}

async function eventsOf(session: string): Promise<Event[]> {
  const response = await client.send('GET', `/apps/${app}/users/${user}/sessions/${session}`);
  return ((await response.json()) as { events: Event[] }).events;
}

/** Waits until the text of the session's last event matches, and returns the events. */
async function untilSaid(session: string, words: RegExp): Promise<Event[]> {
  await until(async () => words.test(lastText(await eventsOf(session))), { what: `${words} to be said` });
  return await eventsOf(session);
}

/** Asks for the pending calls of a session over NATS, as any program may. */
async function pendingIn(session: string): Promise<AddressedCall[]> {
  const reply = await nats.request(names.pending, JSON.stringify({ app, user, session }), { timeout: 5_000 });
  return reply.json<{ pending: AddressedCall[] }>().pending;
}

/** Publishes a text as `nats pub` does. */
async function publish(subject: string | undefined, text: string): Promise<void> {
  nats.publish(subject ?? '', text);
  await nats.flush();
}

/** Starts the approver of the documents in its own process, with the rights of any program. */
async function startApprover() {
  const env = {
    PATH: process.env.PATH,
    NATS_URL: mesh.natsUrl,
    MESH_NATS_CREDS: mesh.login('client').credsFile,
  };
  const child = spawnGuarded([process.execPath, approver], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  if (child.stdout) createInterface(child.stdout).on('line', (line) => lines.push(line));
  await until(() => lines.some((line) => line.startsWith('listening')), { what: 'the approver to listen' });
  return { lines, [Symbol.asyncDispose]: () => endProcess(child, 'SIGTERM', 5_000) };
}

describe('reimbursement_app', () => {
  it('pays a small amount at once, and once', async () => {
    const session = await client.createSession(app, user);
    const events = await client.events(app, session, 'Please reimburse 50$ for meals');
    expect(events.flatMap(getFunctionCalls).map(({ name }) => name)).toEqual(['reimburse']);
    const [call] = events.flatMap(getFunctionCalls);
    const payment = { paymentId: `payment-${call?.id}`, amount: 50, purpose: 'meals' };
    expect(await paymentsIn(events)).toEqual([payment]);
    expect(lastText(events)).toBe(`You have 50 back for meals (${payment.paymentId}).`);
    expect(await pendingIn(session)).toEqual([]);
  });

  it('asks as docs/long-running.md shows', async () => {
    const events = await runDocCommands('docs/long-running.md', app, mesh.gatewayUrl);
    expect(events.flatMap(getFunctionCalls)).toMatchObject([
      { name: 'ask_for_approval', args: { amount: 200 } },
    ]);
    expect(lastText(events)).toMatch(/^Your manager has to approve this first/);
  });

  it('asks a manager from 100 on, and pays once when a program of a dozen lines approves', async () => {
    await using eve = await startApprover();
    const session = await client.createSession(app, user);
    const events = await client.events(app, session, 'Please reimburse 100$ for a train ride');
    const [call] = events.flatMap(getFunctionCalls);
    const ticket = {
      status: 'pending',
      ticketId: `ticket-${call?.id}`,
      amount: 100,
      purpose: 'a train ride',
    };
    expect(events.flatMap(getFunctionResponses).map(({ response }) => response)).toEqual([ticket]);
    expect(lastText(events)).toBe(`Your manager has to approve this first (${ticket.ticketId}).`);

    const log = await untilSaid(session, /^You have 100 back for a train ride/);
    expect(eve.lines.filter((line) => line.includes(String(call?.id)))).toHaveLength(1);
    const answer = log.find((event) => event.author === 'user' && getFunctionResponses(event).length > 0);
    expect(answer?.content?.parts).toMatchObject([
      { functionResponse: { id: call?.id, name: 'ask_for_approval', response: { status: 'approved' } } },
    ]);
    expect(answer?.customMetadata?.answeredBy).toEqual({ by: 'eve', via: 'nats', service: 'client' });
    expect(await paymentsIn(log)).toMatchObject([{ amount: 100, purpose: 'a train ride' }]);
    expect(await pendingIn(session)).toEqual([]);
  });

  it('pays nothing when the manager rejects; an answer counts once', async () => {
    const session = await client.createSession(app, user);
    await client.events(app, session, 'Please reimburse 200$ for a hat');
    const [call] = await pendingIn(session);
    expect(call).toMatchObject({ name: 'ask_for_approval', args: { amount: 200, purpose: 'a hat' } });
    // The deadline is after a week.
    expect((call?.deadline ?? 0) - (call?.created ?? 0)).toBe(7 * 86_400_000);
    await publish(call?.operationSubject, '{"final":true,"response":{"status":"rejected"}}');
    await untilSaid(session, /^I have paid nothing: your manager has rejected it/);
    const [dead] = await deadLettersAfter(() =>
      publish(call?.operationSubject, '{"final":true,"response":{"status":"approved"}}'),
    );
    expect(dead).toMatchObject({ error: { code: 'failed_precondition' } });
    const log = await eventsOf(session);
    expect(lastText(log)).toContain('rejected');
    expect(await paymentsIn(log)).toEqual([]);
  });

  it('keeps two approvals of one session apart', async () => {
    const session = await client.createSession(app, user);
    await client.events(app, session, 'Please reimburse 300$ for a desk');
    await client.events(app, session, 'Please reimburse 400$ for a chair');
    const [desk, chair] = await pendingIn(session);
    await publish(chair?.operationSubject, '{"final":true,"response":{"status":"approved"}}');
    await untilSaid(session, /^You have 400 back for a chair/);
    expect((await pendingIn(session)).map(({ id }) => id)).toEqual([desk?.id]);
    await publish(desk?.operationSubject, '{"final":true,"response":{"status":"approved"}}');
    const log = await untilSaid(session, /^You have 300 back for a desk/);
    expect(await paymentsIn(log)).toHaveLength(2);
  });
});

describe('an approval', () => {
  it('waits while no process runs, and so does its answer', async () => {
    const session = await client.createSession(app, user);
    await client.events(app, session, 'Please reimburse 500$ for a bicycle');
    const [call] = await pendingIn(session);
    const processes = mesh.processes.filter(({ name }) => name !== 'reimburse');
    await Promise.all(processes.map((each) => each.kill()));
    await publish(call?.operationSubject, '{"final":true,"response":{"status":"approved"}}');
    expect((await pendingIn(session)).map(({ id }) => id)).toEqual([call?.id]);
    const [agent] = samples.filter(({ manifest }) => manifest.name === 'reimbursement_agent');
    if (!agent) throw new Error('the agent is gone');
    await mesh.start(agent);
    const log = await untilSaid(session, /^You have 500 back for a bicycle/);
    expect(await paymentsIn(log)).toHaveLength(1);
  });
});

/** Returns the dead letters of the agent that an action causes. */
async function deadLettersAfter(act: () => Promise<void>): Promise<unknown[]> {
  const operator = await connect(loginOf('provision'));
  const letters: unknown[] = [];
  operator.subscribe(names.dead('agent', 'reimbursement_agent'), {
    callback: (_error, message) => void letters.push(message.json()),
  });
  await operator.flush();
  await act();
  await until(() => letters.length > 0, { what: 'a dead letter' });
  await operator.close();
  return letters;
}

describe('the approver of the documents', () => {
  it('is a dozen lines of plain NATS', () => {
    const script = readFileSync(join(root, approver), 'utf8');
    expect(script).not.toContain('@agentmesh');
    const code = script.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('//'));
    expect(code.length).toBeLessThanOrEqual(12);
  });
});
