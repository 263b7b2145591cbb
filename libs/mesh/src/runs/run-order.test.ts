import { LlmAgent } from '@agentmesh/agent';
import { overrideSessions } from '@agentmesh/agent/internal';
import type { StoredItem } from '@agentmesh/bus';
import { everySession } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { brief, memoryMesh, ScriptedLlm, says, untilWaiting } from '../harness.fixture.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { serveAgent } from '../serve/serve-agent.ts';

const echo = () =>
  new ScriptedLlm(
    ...Array.from(
      { length: 9 },
      () =>
        ({ contents }: { contents: readonly { parts?: { text?: string }[] }[] }) =>
          says(`re: ${contents.at(-1)?.parts?.[0]?.text}`),
    ),
  );

/** Makes an agent with one model on replicas, which `wrap` may change, and a session. */
async function stage(...wraps: ((mesh: Mesh) => Mesh)[]) {
  const world = memoryMesh();
  const model = echo();
  for (const wrap of wraps)
    await serveAgent(wrap(await world.connect('agent_solo')), new LlmAgent({ name: 'solo', model }), {
      app: 'app',
      maxConcurrency: 1,
      sweepMs: 50,
    });
  const { client, ref } = await world.chat('app');
  const start = async (message: string) => {
    const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message });
    return { ...run, all: Array.fromAsync(run.events) };
  };
  const log = async () => (await world.sessions.getSession(ref))?.events.map(brief);
  return { world, client, ref, start, log, model };
}

const inTurn = (...texts: string[]) => texts.flatMap((text) => [`user: ${text}`, `solo: re: ${text}`]);

/** Makes a replica that stops before it takes its first run, until the gate opens. */
function stopped() {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const wrap = (mesh: Mesh): Mesh => ({
    ...mesh,
    sessions: overrideSessions(mesh.sessions, {
      leases: {
        async take(ref, options) {
          reached.resolve();
          await gate.promise;
          return await mesh.sessions.leases.take(ref, options);
        },
      },
    }),
  });
  return { wrap, reached: reached.promise, open: () => gate.resolve() };
}

it('a run waits for an earlier one that a stopped replica has received', async () => {
  const first = stopped();
  const { start, log, world, client, ref } = await stage(first.wrap);
  const one = await start('one');
  await first.reached;
  const model = echo();
  await serveAgent(await world.connect('agent_solo'), new LlmAgent({ name: 'solo', model }), {
    app: 'app',
    sweepMs: 50,
  });
  const two = await start('two');
  await untilWaiting(client, ref, two);
  first.open();
  await Promise.all([one.all, two.all]);
  expect(await log()).toEqual(inTurn('one', 'two'));
  expect(world.lines).toEqual([]);
});

it('a run that is rejected at one replica does not begin at another', async () => {
  const gate = Promise.withResolvers<void>();
  const rejected = Promise.withResolvers<void>();
  // A replica that stops after it has found the session busy.
  const wrap = (mesh: Mesh): Mesh => ({
    ...mesh,
    sessions: overrideSessions(mesh.sessions, {
      leases: {
        async take(ref, options) {
          const taken = await mesh.sessions.leases.take(ref, options);
          rejected.resolve();
          await gate.promise;
          return taken;
        },
      },
    }),
  });
  const { client, ref, log, world } = await stage(wrap);
  const holder = { ...ref, invocationId: 'holder' };
  await world.sessions.leases.take(holder, { run: '', whenBusy: 'enqueue' });
  const request = { app: 'app', user: 'u', session: ref.sessionId, message: 'one' };
  const run = await startRun(client, { ...request, whenBusy: 'reject' });
  const all = Array.fromAsync(run.events);
  await rejected.promise;
  await world.sessions.invocations.end(holder, { status: 'completed' });
  const agent = new LlmAgent({ name: 'solo', model: echo() });
  await serveAgent(await world.connect('agent_solo'), agent, { app: 'app', sweepMs: 50 });
  const { invocationId } = run;
  const again = { ...request, whenBusy: 'reject', invocationId };
  await client.bus.enqueue(client.subjects.agentRun('solo', ref.sessionId), again, { messageId: 'again' });
  await all;
  gate.resolve();
  const end = { status: 'failed', error: { code: 'resource_exhausted' } };
  expect(await run.end).toMatchObject(end);
  expect(await world.sessions.invocations.get({ ...ref, invocationId })).toMatchObject(end);
  expect(await log()).toEqual([]);
});

it('a run goes on when the earlier one will never arrive', async () => {
  const first = stopped();
  const { start, log, world, client, ref } = await stage(first.wrap);
  await start('one');
  await first.reached;
  await serveAgent(await world.connect('agent_solo'), new LlmAgent({ name: 'solo', model: echo() }), {
    app: 'app',
    sweepMs: 50,
  });
  const two = await start('two');
  await untilWaiting(client, ref, two);
  // As an operator who removes messages from a stream.
  world.hub.remove('mesh.v1.agent.solo.run.*');
  await two.all;
  expect(await log()).toEqual(inTurn('two'));
});

/** Makes a replica whose server keeps all commands, as one does that was killed before it stored an acknowledgement. */
function forgetful(kept: StoredItem[] = []) {
  return (mesh: Mesh): Mesh => ({
    ...mesh,
    bus: {
      ...mesh.bus,
      consumeRuns: (agent, handler, options) =>
        mesh.bus.consumeRuns(
          agent,
          (item) => {
            kept.push(item);
            return handler(item);
          },
          options,
        ),
      async *earlierRuns(_session, before) {
        yield* kept.filter(({ place }) => place < before);
      },
    },
  });
}

/** Makes a replica that finds no record of a run while `isGone` says so. */
function withoutRecords(isGone: () => boolean) {
  return (mesh: Mesh): Mesh => ({
    ...mesh,
    sessions: overrideSessions(mesh.sessions, {
      invocations: {
        get: (ref) =>
          mesh.sessions.invocations.get(isGone() ? { ...ref, invocationId: `not-${ref.invocationId}` } : ref),
      },
    }),
  });
}

it('a run does not wait for a command that a killed server has kept, though the record of its run is gone', async () => {
  const kept: StoredItem[] = [];
  let isExpired = false;
  const { start, log } = await stage((mesh) => withoutRecords(() => isExpired)(forgetful(kept)(mesh)));
  await (await start('one')).all;
  expect(kept).toHaveLength(1);
  isExpired = true;
  await (await start('two')).all;
  expect(await log()).toEqual(inTurn('one', 'two'));
});

it.each(['run with', 'run without'])(
  'a %s the incarnation of its session does not wait for a kept command of a deleted session of its id',
  async (kind) => {
    let isDeleted = false;
    const { start, log, world, client, ref } = await stage((mesh) =>
      withoutRecords(() => isDeleted)(forgetful()(mesh)),
    );
    await (await start('one')).all;
    await world.sessions.deleteSession(ref);
    isDeleted = true;
    await world.sessions.createSession({ ...ref });
    const view = kind === 'run with' ? await world.sessions.leases.look(ref) : undefined;
    const message = { parts: [{ text: 'two' }] };
    const command = { message, user: 'u', invocationId: 'e-two', incarnation: view?.incarnation };
    await client.bus.enqueue(client.subjects.agentRun('solo', ref.sessionId), command, { messageId: 'two' });
    await expect.poll(log).toEqual(inTurn('two'));
  },
);

it('a command on the subject of another session is a dead letter that names the right one', async () => {
  const { client, ref, world } = await stage((mesh) => mesh);
  const command = { app: 'app', user: 'u', session: ref.sessionId, message: 'hi' };
  await client.bus.enqueue(client.subjects.agentRun('solo', 'other'), command, { messageId: 'm' });
  await expect.poll(() => world.hub.queued('mesh.v1.dead.agent.solo')).toBe(1);
  const [letter = ''] = world.hub.queuedTexts('mesh.v1.dead.agent.solo');
  expect(JSON.parse(letter).error.message).toContain(`publish it on mesh.v1.agent.solo.run.${ref.sessionId}`);
});

it('a command without a session belongs to the session of its subject', async () => {
  const { client, ref, log } = await stage((mesh) => mesh);
  await client.bus.enqueue(
    client.subjects.agentRun('solo', ref.sessionId),
    { app: 'app', user: 'u', message: 'hi' },
    { messageId: 'm' },
  );
  await expect.poll(log).toEqual(inTurn('hi'));
});

it('a run whose command is lost is published again when another one waits for it', async () => {
  const shortLease = (mesh: Mesh): Mesh => ({
    ...mesh,
    sessions: overrideSessions(mesh.sessions, {
      leases: { take: (ref, options) => mesh.sessions.leases.take(ref, { ...options, leaseMs: 20 }) },
    }),
  });
  const { start, log, world, client, model } = await stage();
  const lost = await world.connect('agent_solo');
  const { generateContentAsync } = model;
  const asked = Promise.withResolvers<void>();
  model.generateContentAsync = async function* (...args) {
    if (!lost.bus.status().connected) {
      yield* generateContentAsync.apply(model, args);
      return;
    }
    asked.resolve();
    await new Promise(() => {});
  };
  await serveAgent(shortLease(lost), new LlmAgent({ name: 'solo', model }), { app: 'app' });
  await expect.poll(() => client.bus.directory.get('agent', 'solo')).toBeDefined();
  const one = await start('one');
  await asked.promise;
  world.hub.kill(lost.bus);
  world.hub.remove('mesh.v1.agent.solo.run.*');
  await serveAgent(await world.connect('agent_solo'), new LlmAgent({ name: 'solo', model }), {
    app: 'app',
    sweepMs: 50,
  });
  const two = await start('two');
  await Promise.all([one.all, two.all]);
  expect(await log()).toEqual(inTurn('one', 'two'));
  expect(world.lines.filter((line) => line.includes('gave no sign of life'))).toHaveLength(1);
});

it('work of a program that died in a session ends, and the next run goes on', async () => {
  const { start, log, world, ref } = await stage((mesh) => mesh);
  const ask = { ...ref, invocationId: 'e-ask' };
  await world.sessions.leases.take(ask, { run: '', whenBusy: 'reject', leaseMs: 1 });
  const one = await start('one');
  await one.all;
  expect(await log()).toEqual(inTurn('one'));
  expect(await world.sessions.invocations.get(ask)).toMatchObject({
    status: 'failed',
    error: { code: 'unavailable' },
  });
});

it('a run that was accepted for a deleted session leaves nothing in a new one of its id', async () => {
  const first = stopped();
  const { start, log, world, ref } = await stage(first.wrap);
  const one = await start('one');
  await first.reached;
  await world.sessions.deleteSession(ref);
  await world.sessions.createSession({ ...ref });
  first.open();
  await one.all;
  expect(await one.end).toMatchObject({ status: 'failed', error: { code: 'not_found' } });
  expect(await log()).toEqual([]);
  const two = await start('two');
  await two.all;
  expect(await log()).toEqual(inTurn('two'));
});

it('a command that comes again after the deletion of its session tells the same end again', async () => {
  const { start, world, client, ref } = await stage((mesh) => mesh);
  const one = await start('one');
  await one.all;
  await world.sessions.deleteSession(ref);
  const ends: unknown[] = [];
  await client.bus.subscribe(client.subjects.invocationWatch(everySession, one.invocationId), (message) =>
    ends.push(message.json()),
  );
  const command = {
    invocationId: one.invocationId,
    app: 'app',
    user: 'u',
    session: ref.sessionId,
    message: 'one',
  };
  await client.bus.enqueue(client.subjects.agentRun('solo', ref.sessionId), command, { messageId: 'again' });
  await expect.poll(() => ends).toMatchObject([{ status: 'completed' }]);
});
