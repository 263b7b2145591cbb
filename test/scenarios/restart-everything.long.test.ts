import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import type { AddressedCall } from '@agentmesh/mesh';
import { type Event, keys, subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { connect } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { natsLogin } from '../nats-login.ts';
import { lastText, restClient } from '../rest-client.ts';

const app = 'reimbursement_app';
const user = 'u1';
const needed = ['reimbursement_agent', 'ask_for_approval', 'reimburse'];
const services = samples.filter(({ manifest }) => needed.includes(manifest.name));

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'agentmesh-restart-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const launch = () => launchMesh({ services, model: 'scripted', dataDir, ackWaitMs: 1_000 });

/** Kills all services and stops NATS and Redis. Their data stays. */
async function stopAll(mesh: LocalMesh): Promise<void> {
  await Promise.all([mesh.gateway, ...mesh.processes].map((service) => service.kill()));
  await mesh[Symbol.asyncDispose]();
}

/** Asks for an amount that needs a manager's approval. Returns the pending call. */
async function askFor(mesh: LocalMesh, amount: number): Promise<{ session: string; call: AddressedCall }> {
  const client = restClient(mesh.gatewayUrl);
  const session = await client.createSession(app, user);
  await client.events(app, session, `Please reimburse ${amount}$ for a bicycle`);
  const response = await client.send('GET', `/apps/${app}/users/${user}/sessions/${session}/pending`);
  const { pending } = (await response.json()) as { pending: AddressedCall[] };
  expect(pending).toHaveLength(1);
  return { session, call: pending[0] as AddressedCall };
}

async function logOf(mesh: LocalMesh, session: string): Promise<Event[]> {
  const client = restClient(mesh.gatewayUrl);
  const response = await client.send('GET', `/apps/${app}/users/${user}/sessions/${session}`);
  return ((await response.json()) as { events: Event[] }).events;
}

/** Returns all payments. */
async function payments(mesh: LocalMesh): Promise<unknown[]> {
  const redis = new Redis(mesh.redisUrl);
  try {
    const ledger = keys().own('tool_reimburse', 'payments');
    return (await redis.hvals(ledger)).map((payment) => JSON.parse(payment));
  } finally {
    redis.disconnect();
  }
}

describe('an approval after a restart of all processes', () => {
  it('is given over NATS, and paid once', async () => {
    const first = await launch();
    const { session, call } = await askFor(first, 800);
    await stopAll(first);
    await using second = await launch();
    // The mesh has the same address and passwords, so that programs find it again.
    expect([second.natsUrl, second.login('client')]).toEqual([first.natsUrl, first.login('client')]);
    const outside = await connect({
      servers: second.natsUrl,
      inboxPrefix: subjects().inboxPrefix('client'),
      ...natsLogin(second.login('client')),
    });
    // Publishes twice, as a program does that is not sure of the first time.
    for (let n = 0; n < 2; n += 1) {
      outside.publish(
        call.operationSubject ?? '',
        '{"final":true,"response":{"status":"approved"},"by":"eve"}',
      );
    }
    await outside.drain();
    await until(async () => lastText(await logOf(second, session)).startsWith('You have 800 back'));
    const log = await logOf(second, session);
    expect(log.filter(({ author }) => author === 'user').flatMap(getFunctionResponses)).toEqual([
      { id: call.id, name: 'ask_for_approval', response: { status: 'approved' } },
    ]);
    expect(log.flatMap(getFunctionCalls).map(({ name }) => name)).toEqual(['ask_for_approval', 'reimburse']);
    expect(await payments(second)).toMatchObject([{ amount: 800, purpose: 'a bicycle' }]);
  }, 60_000);

  it('is given by a client of the gateway, and paid once', async () => {
    const first = await launch();
    const { session, call } = await askFor(first, 900);
    await stopAll(first);
    await using second = await launch();
    const client = restClient(second.gatewayUrl);
    const answer = {
      app_name: app,
      user_id: user,
      session_id: session,
      new_message: {
        role: 'user',
        parts: [{ function_response: { id: call.id, name: call.name, response: { status: 'approved' } } }],
      },
    };
    const response = await client.send('POST', '/run_sse', answer);
    const told = await response.text();
    expect(response.status).toBe(200);
    expect(told).toContain('You have 900 back for a bicycle');
    expect(lastText(await logOf(second, session))).toMatch(/^You have 900 back for a bicycle/);
    expect(await payments(second)).toMatchObject([{ amount: 900, purpose: 'a bicycle' }]);
  }, 60_000);
});
