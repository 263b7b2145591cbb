import { App, getFunctionResponses } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { type AddressedCall, agentManifest, provisionUser } from '@agentmesh/mesh';
import { type Event, subjects } from '@agentmesh/protocol';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { natsLogin } from '../nats-login.ts';
import { teller } from './manager/src/agent.ts';

const app = 'bank_app';
const names = subjects();
let model: ScriptedGemini;
let mesh: LocalMesh;

beforeAll(async () => {
  model = await startScriptedGemini({
    script: (request) =>
      latestFunctionResponses(request).length === 0
        ? { calls: [{ name: 'pay', args: {} }] }
        : { text: 'done' },
  });
  vi.stubEnv('MESH_HTTP_AUTH', 'proxy');
  vi.stubEnv('MESH_HTTP_PERSON_HEADER', 'X-Forwarded-User');
  vi.stubEnv('MESH_HTTP_ROLES_HEADER', 'X-Forwarded-Groups');
  mesh = await launchMesh({
    services: [
      {
        manifest: agentManifest(new App({ name: 'bank_app', rootAgent: teller })),
        folder: 'test/scenarios/manager',
      },
    ],
    env: { MODEL_URL: model.url },
  });
}, 60_000);
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

const login = (user: string): Promise<NatsConnection> =>
  connect({ servers: mesh.natsUrl, inboxPrefix: names.inboxPrefix(user), ...natsLogin(mesh.login(user)) });

/** Sends a run of the user u1, as the proxy sends it for a person. */
async function send(session: string, parts: unknown[], headers: Record<string, string>) {
  const response = await fetch(`${mesh.gatewayUrl}/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ appName: app, userId: 'u1', sessionId: session, newMessage: { parts } }),
  });
  return { status: response.status, body: (await response.json()) as Event[] & { code?: string } };
}

/** Makes a session in which a payment waits for a manager. */
async function asked() {
  const headers = { 'x-forwarded-user': 'u1' };
  const sessions = `${mesh.gatewayUrl}/apps/${app}/users/u1/sessions`;
  const made = await fetch(sessions, { method: 'POST', headers });
  const { id: session } = (await made.json()) as { id: string };
  await send(session, [{ text: 'pay' }], headers);
  const response = await fetch(`${sessions}/${session}/pending`, { headers });
  const { pending } = (await response.json()) as { pending: AddressedCall[] };
  const [question] = pending;
  const functionResponse = { id: question?.id, name: question?.name, response: { confirmed: true } };
  return { session, question, answer: [{ functionResponse }] };
}

const isPaid = (events: Event[]) => events.flatMap(getFunctionResponses).some(({ name }) => name === 'pay');

/** Returns the decisions about a call, in order. */
async function decisionsAbout(operator: NatsConnection, callId: string): Promise<object[]> {
  const answer = await operator.request(`$JS.API.STREAM.INFO.${names.auditStream}`);
  const { last_seq: last } = answer.json<{ state: { last_seq: number } }>().state;
  const decisions: { callIds: string[] }[] = [];
  for (let seq = 1; seq <= last; seq += 1) {
    const read = JSON.stringify({ seq });
    const { message } = (await operator.request(`$JS.API.STREAM.MSG.GET.${names.auditStream}`, read)).json<{
      message: { data: string };
    }>();
    decisions.push(JSON.parse(Buffer.from(message.data, 'base64').toString()));
  }
  return decisions.filter(({ callIds }) => callIds.includes(callId));
}

describe('a confirmation that a manager must give, over real servers', () => {
  it('is refused by HTTP and NATS until a manager gives it, and all of it is on record', async () => {
    await using operator = {
      nats: await login(provisionUser),
      [Symbol.asyncDispose]: () => operator.nats.close(),
    };
    const { session, question, answer } = await asked();
    const id = question?.id ?? '';
    expect((await send(session, answer, {})).status).toBe(401);
    const asker = { 'x-forwarded-user': 'u1', 'x-forwarded-groups': 'manager' };
    expect(await send(session, answer, asker)).toMatchObject({
      status: 403,
      body: { code: 'permission_denied' },
    });
    const clerk = { 'x-forwarded-user': 'eve', 'x-forwarded-groups': 'clerk, approver' };
    expect(await send(session, answer, clerk)).toMatchObject({ status: 403 });

    const outside = await login('client');
    const update = { final: true, response: { confirmed: true }, by: 'eve' };
    expect(question?.operationSubject).toMatch(/\.client$/);
    await outside.request(question?.operationSubject ?? '', JSON.stringify(update));
    await outside.close();
    await until(async () => (await decisionsAbout(operator.nats, id)).length === 3);

    const stranger = { 'x-forwarded-user': 'eve', 'x-forwarded-groups': 'clerk, manager' };
    expect(await send(session, answer, stranger)).toMatchObject({
      status: 403,
      body: { details: { app, role: 'approver' } },
    });
    const manager = { 'x-forwarded-user': 'eve', 'x-forwarded-groups': 'approver, manager' };
    const { status, body } = await send(session, answer, manager);
    expect([status, isPaid(body)]).toEqual([200, true]);
    // The state belongs to the user.
    expect(body.flatMap(({ actions }) => Object.keys(actions.stateDelta))).toEqual([]);
    await until(async () => (await decisionsAbout(operator.nats, id)).length === 4);
    const by = (service: string, more: object) => ({ answeredBy: { service, ...more } });
    expect(await decisionsAbout(operator.nats, id)).toMatchObject([
      { decision: 'refused', service: 'gateway', ...by('gateway', { by: 'u1', roles: ['manager', 'user'] }) },
      {
        decision: 'refused',
        service: 'gateway',
        ...by('gateway', { by: 'eve', roles: ['clerk', 'approver', 'user'] }),
      },
      { decision: 'refused', service: 'agent_teller', ...by('client', { by: 'eve', via: 'nats' }) },
      { decision: 'accepted', service: 'agent_teller', ...by('gateway', { by: 'eve', via: 'rest' }) },
    ]);
  });

  it('tells an approver nothing about the state, also not by refusing a guess of it', async () => {
    const { session, question } = await asked();
    const sessions = `${mesh.gatewayUrl}/apps/${app}/users/u1/sessions/${session}`;
    const headers = { 'x-forwarded-user': 'eve', 'x-forwarded-groups': 'approver, manager' };
    expect((await fetch(sessions, { headers })).status).toBe(403);
    const guess = async (balance: number) => {
      // The answer is not valid, so the question stays open for the next guess.
      const resume = [{ interruptId: question?.id, status: 'resolved', payload: { confirmed: 'perhaps' } }];
      const input = { threadId: session, runId: 'r', messages: [], tools: [], context: [], resume };
      const response = await fetch(`${mesh.gatewayUrl}/apps/${app}/users/u1/ag-ui`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
        body: JSON.stringify({ ...input, state: { balance } }),
      });
      const { code, error } = (await response.json()) as { code?: string; error?: string };
      return { status: response.status, code, error };
    };
    const own = { 'x-forwarded-user': 'u1', 'content-type': 'application/json' };
    await fetch(sessions, {
      method: 'PATCH',
      headers: own,
      body: JSON.stringify({ stateDelta: { balance: 1 } }),
    });
    expect(await guess(1)).toEqual(await guess(2));
    expect(await guess(1)).toMatchObject({ status: 403, code: 'permission_denied' });
  });

  it('is not given by the agent itself, neither under its own name nor under the name of the client', async () => {
    const { session, question, answer } = await asked();
    const agent = await login('agent_teller');
    const update = JSON.stringify({
      final: true,
      response: { confirmed: true },
      by: 'eve',
      roles: ['manager'],
    });
    for (const service of ['client', 'gateway', 'agent_teller'])
      await expect(
        agent.request(names.operation('teller', question?.id ?? '', service), update, { timeout: 1_000 }),
      ).rejects.toThrow();
    await agent.close();
    const manager = { 'x-forwarded-user': 'eve', 'x-forwarded-groups': 'manager, bank_app:approver' };
    expect((await send(session, answer, manager)).status).toBe(200);
  });
});
