import { setTimeout as delay } from 'node:timers/promises';
import { LlmAgent } from '@agentmesh/agent';
import { connectNats, provision } from '@agentmesh/bus';
import { createLogger } from '@agentmesh/service';
import { connectRedisStore } from '@agentmesh/store';
import { startNats, startRedis, until } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { createMesh } from '../connect/create-mesh.ts';
import { brief, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { createCallers } from '../mesh/callers.ts';
import { serveAgent } from '../serve/serve-agent.ts';

const rounds = 25;

it('a run of a deleted session writes nothing into a new session of its id', async () => {
  await using redis = await startRedis();
  await using nats = await startNats();
  await provision({ url: nats.url, agents: ['solo'], ackWaitMs: 300, storage: 'memory' });
  await using store = await connectRedisStore({ url: redis.url });
  const log = createLogger({ service: 'test', replica: 'test', level: 'fatal' });
  const callers = createCallers(store.callerKeys);
  const connect = async (service: string) =>
    createMesh({ bus: await connectNats({ service, url: nats.url }), ...store, callers, log });
  const model = new ScriptedLlm(...Array.from({ length: rounds }, () => says('done')));
  const { generateContentAsync } = model;
  model.generateContentAsync = async function* (...args) {
    await delay(Math.random() * 10);
    yield* generateContentAsync.apply(model, args);
  };
  const served = await connect('agent_solo');
  await using _bus = served.bus;
  await serveAgent(served, new LlmAgent({ name: 'solo', model }), { app: 'app' });
  const client = await connect('client');
  await using _client = client.bus;
  const written: string[] = [];
  for (let n = 0; n < rounds; n += 1) {
    const ref = { appName: 'app', userId: 'u', sessionId: `s${n}` };
    await client.sessions.createSession(ref);
    const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message: 'go' });
    await delay(Math.random() * 8);
    await client.sessions.deleteSession(ref);
    await client.sessions.createSession(ref);
    // A watcher of a deleted session may be told that it is gone.
    await Array.fromAsync(run.events).catch(() => {});
    await run.end.catch(() => {});
    written.push(...((await client.sessions.getSession(ref))?.events ?? []).map(brief));
  }
  expect(written).toEqual([]);
}, 30_000);

it('a run that found no session writes nothing into one that is made anew meanwhile', async () => {
  const world = memoryMesh();
  const served = await world.connect('agent_solo');
  const ref = { appName: 'app', userId: 'u', sessionId: 's' };
  served.sessionCache.open = async () => {
    await world.sessions.createSession(ref);
    return undefined;
  };
  const model = new ScriptedLlm();
  await serveAgent(served, new LlmAgent({ name: 'solo', model }), { app: 'app' });
  const { bus, subjects } = await world.connect('client');
  // A plain publisher does not say for which session of the id the message is.
  const run = { invocationId: 'e-1', app: 'app', user: 'u', session: 's', message: 'go' };
  await bus.enqueue(subjects.agentRun('solo', 's'), run, { messageId: 'e-1:0' });
  const record = () => world.sessions.invocations.get({ ...ref, invocationId: 'e-1' });
  await until(async () => (await record()).status === 'failed', { what: 'the end of the run' });
  expect(await record()).toMatchObject({ error: { code: 'not_found' } });
  expect((await world.sessions.getSession(ref))?.events).toEqual([]);
});

it('a run whose session is deleted after it was read writes nothing into one that is made anew', async () => {
  await using redis = await startRedis();
  await using store = await connectRedisStore({ url: redis.url });
  const { sessions } = store;
  const world = memoryMesh();
  const log = createLogger({ service: 'test', replica: 'test', level: 'fatal' });
  const callers = createCallers(store.callerKeys);
  const served = createMesh({
    bus: await world.hub.connect({ service: 'agent_solo' }),
    ...store,
    callers,
    log,
  });
  const ref = { appName: 'app', userId: 'u', sessionId: 's' };
  await sessions.createSession(ref);
  const open = served.sessionCache.open.bind(served.sessionCache);
  served.sessionCache.open = async (...args) => {
    const session = await open(...args);
    await sessions.deleteSession(ref);
    return session;
  };
  const { leases } = sessions;
  const take = leases.take.bind(leases);
  leases.take = async (...args) => {
    const taken = await take(...args);
    if (taken.state === 'gone') await sessions.createSession(ref);
    return taken;
  };
  await serveAgent(served, new LlmAgent({ name: 'solo', model: new ScriptedLlm() }), { app: 'app' });
  const { bus, subjects } = await world.connect('client');
  // A plain publisher does not say for which session of the id the message is.
  const run = { invocationId: 'e-1', app: 'app', user: 'u', session: 's', message: 'go' };
  await bus.enqueue(subjects.agentRun('solo', 's'), run, { messageId: 'e-1:0' });
  const record = () => sessions.invocations.get({ ...ref, invocationId: 'e-1' });
  await until(async () => (await record()).status === 'failed', { what: 'the end of the run' });
  expect((await sessions.getSession(ref))?.events).toEqual([]);
});
