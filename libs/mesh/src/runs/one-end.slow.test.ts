import { LlmAgent, type LlmRequest } from '@agentmesh/agent';
import { overrideSessions } from '@agentmesh/agent/internal';
import { header, MeshError } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import type { Content } from '@google/genai';
import { expect, it, vi } from 'vitest';
import { followRun } from '../client/follow-run.ts';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { cancelInvocation } from './cancel-invocation.ts';

const echo = ({ contents }: LlmRequest) => says(`re: ${contents.at(-1)?.parts?.[0]?.text}`);

/** Makes an agent whose store calls `afterCommit` with each event of the agent that it has committed. */
async function stage(model: ScriptedLlm, afterCommit: (mesh: Mesh, said: string) => Promise<void>) {
  const world = memoryMesh();
  const serve = async () => {
    const mesh = await world.connect('agent_solo');
    const sessions = overrideSessions(mesh.sessions, {
      async appendEvent(request) {
        const event = await mesh.sessions.appendEvent(request);
        if (event.author === 'solo') await afterCommit(mesh, brief(event));
        return event;
      },
    });
    const agent = new LlmAgent({ name: 'solo', model, tools: [remoteTool('work')] });
    await serveAgent({ ...mesh, sessions }, agent, { app: 'app' });
    return mesh;
  };
  const { client, ref } = await world.chat('app');
  const start = async (timeoutMs?: number) => {
    const request = { app: 'app', user: 'u', session: ref.sessionId, message: 'go' };
    const run = await startRun(client, request, timeoutMs === undefined ? {} : { timeoutMs });
    return { ...run, all: Array.fromAsync(run.events) };
  };
  const cancel = (invocationId: string) => cancelInvocation(client, { ...ref, invocationId }, 'enough');
  const record = (invocationId: string) => world.sessions.invocations.get({ ...ref, invocationId });
  const log = async () => (await world.sessions.getSession(ref))?.events.map(brief);
  return { world, client, ref, serve, start, cancel, record, log };
}

it('a run of a session with the name failure ends when it fails', async () => {
  const world = memoryMesh();
  let requests = 0;
  const model = new ScriptedLlm(says('done'));
  const { generateContentAsync } = model;
  model.generateContentAsync = async function* (
    request: LlmRequest,
    _stream?: boolean,
    signal?: AbortSignal,
  ) {
    requests += 1;
    // The first answer does not come.
    if (requests === 1) await new Promise((_resolve, reject) => signal?.addEventListener('abort', reject));
    yield* generateContentAsync.call(model, request);
  };
  await serveAgent(await world.connect('agent_solo'), new LlmAgent({ name: 'solo', model }), { app: 'app' });
  const client = await world.connect('client');
  const ref = { appName: 'app', userId: 'u', sessionId: 'failure' };
  await world.sessions.createSession(ref);
  const say = async (message: string, timeoutMs = 30_000) => {
    const request = { app: 'app', user: 'u', session: 'failure', message };
    const run = await startRun(client, request, { timeoutMs });
    const events = await Array.fromAsync(run.events, brief);
    return { events, record: await world.sessions.invocations.get({ ...ref, ...run }) };
  };
  expect(await say('one', 200)).toMatchObject({
    events: ['solo: fails deadline_exceeded'],
    record: { status: 'failed', error: { code: 'deadline_exceeded' } },
  });
  expect(await say('two')).toMatchObject({ events: ['solo: done'], record: { status: 'completed' } });
});

it.each(['enqueue', 'reject'] as const)(
  'a run with the id of a run of another session changes nothing there (%s)',
  async (whenBusy) => {
    const gate = Promise.withResolvers<void>();
    const world = memoryMesh();
    const model = new ScriptedLlm(says('one'), says('two'));
    const { generateContentAsync } = model;
    model.generateContentAsync = async function* (...args) {
      await gate.promise;
      yield* generateContentAsync.apply(model, args);
    };
    await serveAgent(await world.connect('agent_solo'), new LlmAgent({ name: 'solo', model }), {
      app: 'app',
    });
    const { client, ref } = await world.chat('app');
    const other = await world.sessions.createSession({ appName: 'app', userId: 'u' });
    const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message: 'go' });
    const all = Array.fromAsync(run.events, brief);
    await expect.poll(async () => (await world.sessions.getSession(ref))?.events).toHaveLength(1);
    const { invocationId } = run;
    const letters = () => world.hub.queued('mesh.v1.dead.agent.solo');
    const steal = async (session: string) => {
      const command = { app: 'app', user: 'u', session, message: 'steal', whenBusy, invocationId };
      const before = letters();
      await client.bus.enqueue(client.subjects.agentRun('solo', session), command, {
        messageId: crypto.randomUUID(),
        // Its deadline has passed.
        headers: { [header.deadline]: '1' },
      });
      await expect.poll(letters).toBe(before + 1);
    };
    await steal(other.id);
    await steal('no session');
    gate.resolve();
    expect(await all).toEqual(['solo: one']);
    expect(await run.end).toMatchObject({ status: 'completed' });
    await steal(other.id);
    const next = { app: 'app', user: 'u', session: other.id, message: 'next' };
    expect(await Array.fromAsync((await startRun(client, next)).events, brief)).toEqual(['solo: two']);
  },
);

it('the same invocation id of two users: neither sees or cancels the run of the other', async () => {
  const world = memoryMesh();
  const gate = Promise.withResolvers<void>();
  const model = new ScriptedLlm(...Array.from({ length: 3 }, () => echo));
  const { generateContentAsync } = model;
  model.generateContentAsync = async function* (
    request: LlmRequest,
    _stream?: boolean,
    signal?: AbortSignal,
  ) {
    const stop = new Promise((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason)),
    );
    await Promise.race([gate.promise, stop]);
    yield* generateContentAsync.call(model, request);
  };
  const agent = new LlmAgent({ name: 'solo', model });
  await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
  const client = await world.connect('client');
  const invocationId = 'order-1';
  const begin = async (user: string) => {
    const ref = { appName: 'app', userId: user, sessionId: 's', invocationId };
    await world.sessions.createSession(ref);
    const command = { app: 'app', user, session: 's', message: user, invocationId };
    await client.bus.enqueue(client.subjects.agentRun('solo', 's'), command, { messageId: user });
    await expect.poll(async () => (await world.sessions.getSession(ref))?.seq).toBe(1);
    const run = await followRun(client, ref);
    return { ...run, ref, all: Array.fromAsync(run.numbered, ({ event }) => brief(event)) };
  };
  const ann = await begin('ann');
  const bob = await begin('bob');
  await cancelInvocation(client, ann.ref, 'enough');
  expect(await ann.all).toEqual(['solo: fails cancelled']);
  const eve = await begin('eve');
  gate.resolve();
  expect(await Promise.all([bob.all, eve.all])).toEqual([['solo: re: bob'], ['solo: re: eve']]);
  for (const run of [bob, eve]) expect(await run.end).toMatchObject({ status: 'completed' });
});

it('the same invocation id of two users: the run of each goes on after a transfer', async () => {
  const world = memoryMesh();
  const transfer = calls('transfer_to_agent', { agent_name: 'other' });
  const root = new LlmAgent({
    name: 'solo',
    model: new ScriptedLlm(transfer, transfer),
    subAgents: [remoteAgent('other')],
  });
  const other = new LlmAgent({ name: 'other', model: new ScriptedLlm(echo, echo) });
  await serveAgent(await world.connect('agent_other'), other);
  await serveAgent(await world.connect('agent_solo'), root, { app: 'app' });
  const client = await world.connect('client');
  for (const user of ['ann', 'bob']) {
    const ref = { appName: 'app', userId: user, sessionId: 's', invocationId: 'order-1' };
    await world.sessions.createSession(ref);
    const command = { app: 'app', user, session: 's', message: user, invocationId: 'order-1' };
    await client.bus.enqueue(client.subjects.agentRun('solo', 's'), command, { messageId: user });
    await expect.poll(() => world.sessions.invocations.get(ref)).toMatchObject({ status: 'completed' });
  }
});

it('runs that waited for a deleted session do not hold up the session that is made anew', async () => {
  const world = memoryMesh();
  const never = Promise.withResolvers<void>();
  let requests = 0;
  const model = new ScriptedLlm(echo);
  const { generateContentAsync } = model;
  model.generateContentAsync = async function* (request: LlmRequest) {
    requests += 1;
    if (requests === 1) await never.promise;
    yield* generateContentAsync.call(model, request);
  };
  await serveAgent(await world.connect('agent_solo'), new LlmAgent({ name: 'solo', model }), { app: 'app' });
  const { client, ref } = await world.chat('app');
  const start = (message: string) =>
    startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message });
  await start('one');
  await expect.poll(() => requests).toBe(1);
  const waiting = [await start('two'), await start('three')];
  await expect.poll(() => world.hub.queued('mesh.v1.agent.solo.run.*')).toBe(1);
  await world.sessions.deleteSession(ref);
  await world.sessions.createSession(ref);
  expect(await Array.fromAsync((await start('four')).events, brief)).toEqual(['solo: re: four']);
  for (const { invocationId } of waiting)
    expect(await world.sessions.invocations.get({ ...ref, invocationId })).toMatchObject({
      error: { code: 'not_found' },
    });
});

it('a run that is cancelled after its last word has ended with that word', async () => {
  let invocationId = '';
  const { serve, start, cancel, record, log, world } = await stage(
    new ScriptedLlm(says('done')),
    async () => void (await cancel(invocationId)),
  );
  await serve();
  const run = await start();
  ({ invocationId } = run);
  expect((await run.all).map(brief)).toEqual(['solo: done']);
  expect(await run.end).toMatchObject({ status: 'completed' });
  expect(await record(invocationId)).toMatchObject({ status: 'completed' });
  expect(await log()).toEqual(['user: go', 'solo: done']);
  // Nobody serves the tool of the agent in this test.
  expect(world.lines.filter((line) => !line.includes('nobody serves a tool'))).toEqual([]);
});

it.each([
  ['is cancelled', undefined],
  ['passes its deadline', 300],
])(
  'a run whose process dies after its last word, and that %s then, has ended with that word',
  async (_how, timeoutMs) => {
    const died = Promise.withResolvers<void>();
    const { serve, start, cancel, record, log, world } = await stage(
      new ScriptedLlm(says('done')),
      async (mesh) => {
        world.hub.kill((mesh as Awaited<ReturnType<typeof serve>>).bus);
        died.resolve();
        await new Promise(() => {});
      },
    );
    await serve();
    const run = await start(timeoutMs);
    await died.promise;
    if (timeoutMs === undefined) await cancel(run.invocationId);
    else await new Promise((resolve) => setTimeout(resolve, timeoutMs));
    await serve();
    await run.all;
    expect(await run.end).toMatchObject({ status: 'completed' });
    expect(await record(run.invocationId)).toMatchObject({ status: 'completed' });
    expect(await log()).toEqual(['user: go', 'solo: done']);
  },
);

it('a run that is cancelled between a call and its job leaves no open call', async () => {
  let invocationId = '';
  const { serve, start, cancel, record, log, world, client, ref } = await stage(
    new ScriptedLlm(calls('work')),
    async () => void (await cancel(invocationId)),
  );
  // Nobody works: only its card is there, as of a service that has just gone.
  await client.bus.announce({
    kind: 'tool',
    name: 'work',
    description: 'works',
    version: '0.0.0',
    declaration: { name: 'work' },
    longRunning: true,
  });
  await serve();
  const run = await start();
  ({ invocationId } = run);
  await run.all;
  const end = { status: 'failed', error: { code: 'cancelled', message: 'enough' } };
  expect(await run.end).toMatchObject(end);
  expect(await record(invocationId)).toMatchObject(end);
  expect(await world.sessions.pending.list(ref)).toEqual([]);
  expect(await log()).toEqual(['user: go', 'solo: calls work', 'solo: fails cancelled']);
});

it('a run whose failure cannot be committed ends all the same, and the next run goes on', async () => {
  const world = memoryMesh();
  const mesh = await world.connect('agent_solo');
  const sessions = overrideSessions(mesh.sessions, {
    async appendEvent(request) {
      if (request.event.errorCode !== undefined) throw new MeshError('invalid_argument', 'cannot be stored');
      return await mesh.sessions.appendEvent(request);
    },
  });
  const instruction = ({ userContent }: { userContent?: Content }) => {
    if (userContent?.parts?.[0]?.text === 'one') throw new Error('broken');
    return '';
  };
  const agent = new LlmAgent({ name: 'solo', model: new ScriptedLlm(says('two')), instruction });
  await serveAgent({ ...mesh, sessions }, agent, { app: 'app' });
  const chat = await world.chat('app');
  expect((await chat.say('one')).end).toMatchObject({ status: 'failed' });
  expect((await chat.say('two')).end).toMatchObject({ status: 'completed' });
});

it('a plain answer ends its run in the step of its commit, and callbacks behind it in a step of its own', async () => {
  for (const [afterAgentCallback, steps] of [
    [undefined, ['solo: done +end']],
    [() => undefined, ['solo: done', 'end']],
  ] as const) {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    const seen: string[] = [];
    const sessions = overrideSessions(mesh.sessions, {
      async appendEvent(request) {
        const { event, end } = request;
        if (event.author === 'solo') seen.push(`${brief(event)}${end ? ' +end' : ''}`);
        return await mesh.sessions.appendEvent(request);
      },
      invocations: {
        async end(...given) {
          seen.push('end');
          return await mesh.sessions.invocations.end(...given);
        },
      },
    });
    const model = new ScriptedLlm(says('done'));
    const agent = new LlmAgent({ name: 'solo', model, ...(afterAgentCallback && { afterAgentCallback }) });
    await serveAgent({ ...mesh, sessions }, agent, { app: 'app' });
    const { client, ref } = await world.chat('app');
    const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message: 'go' });
    expect((await Array.fromAsync(run.events)).map(brief)).toEqual(['solo: done']);
    expect(seen).toEqual(steps);
    expect(await world.sessions.invocations.get({ ...ref, invocationId: run.invocationId })).toMatchObject({
      status: 'completed',
    });
  }
});

it('a run whose end the store refuses becomes a dead letter, and its client gets the error', async () => {
  const world = memoryMesh();
  const mesh = await world.connect('agent_solo');
  const refuse = () =>
    Promise.reject(new MeshError('permission_denied', 'the store lets this user do nothing'));
  const sessions = overrideSessions(mesh.sessions, {
    getSession: refuse,
    appendEvent: refuse,
    leases: { take: refuse },
    invocations: { get: refuse, end: refuse },
  });
  const agent = new LlmAgent({ name: 'solo', model: new ScriptedLlm(says('done')) });
  await serveAgent({ ...mesh, sessions }, agent, { app: 'app' });
  const { client, ref } = await world.chat('app');
  const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message: 'go' });
  expect(await Array.fromAsync(run.events, brief)).toEqual([]);
  expect(await run.end).toMatchObject({ status: 'failed', error: { code: 'permission_denied' } });
  const moved = world.lines.filter((line) => line.includes('moved a message to the dead letters'));
  expect(moved).toHaveLength(1);
});

it('a watcher gets all events behind an end that is told by a delivery that read the session before them', async () => {
  const world = memoryMesh();
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [read, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const mesh = await world.connect('agent_solo');
  const { open } = mesh.sessionCache;
  let opened = 0;
  vi.spyOn(mesh.sessionCache, 'open').mockImplementation(async (...given) => {
    const session = await open.apply(mesh.sessionCache, given);
    opened += 1;
    if (opened === 1) return session;
    read.resolve();
    await goOn.promise;
    return session;
  });
  const instruction = async () => {
    asked.resolve();
    await answer.promise;
    return '';
  };
  const agent = new LlmAgent({ name: 'solo', model: new ScriptedLlm(says('done')), instruction });
  await serveAgent(mesh, agent, { app: 'app' });
  const { client, ref } = await world.chat('app');
  // The news of the run itself are lost on their way, as with a connection.
  let hears = false;
  const { subscribe } = client.bus;
  vi.spyOn(client.bus, 'subscribe').mockImplementation((subject, onMessage, ...given) =>
    subscribe.call(client.bus, subject, (message) => hears && onMessage(message), ...given),
  );
  const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message: 'go' });
  const events = Array.fromAsync(run.events, brief);
  await asked.promise;
  const { invocationId } = run;
  const again = { invocationId, app: 'app', user: 'u', session: ref.sessionId, message: 'go' };
  await client.bus.enqueue(client.subjects.agentRun('solo', ref.sessionId), again, { messageId: 'again' });
  await read.promise;
  answer.resolve();
  const ended = async () =>
    (await world.sessions.invocations.get({ ...ref, invocationId })).status !== 'running';
  await until(ended, { what: 'the end of the run' });
  hears = true;
  goOn.resolve();
  expect(await events).toEqual(['solo: done']);
  expect(await run.end).toMatchObject({ status: 'completed' });
});
