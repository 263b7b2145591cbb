import { BaseLlm, LlmAgent, type LlmRequest, type LlmResponse } from '@agentmesh/agent';
import { overrideSessions, type SessionOverrides, type WhenBusy } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { type StartedRun, startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says, untilWaiting } from '../harness.fixture.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { cancelInvocation } from '../runs/cancel-invocation.ts';
import { serveAgent } from './serve-agent.ts';

/** A model that answers a message with `hold` when the gate opens, and all others at once. */
class GatedLlm extends BaseLlm {
  readonly gate = Promise.withResolvers<void>();
  readonly answered: string[] = [];
  atWork = 0;
  mostAtWork = 0;

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const text = contents.at(-1)?.parts?.[0]?.text ?? '';
    if (text.startsWith('hold')) {
      this.atWork += 1;
      this.mostAtWork = Math.max(this.mostAtWork, this.atWork);
      await this.gate.promise;
      this.atWork -= 1;
    }
    this.answered.push(text);
    yield { content: { role: 'model', parts: [{ text: `re: ${text}` }] } };
  }
}

type Leases = NonNullable<SessionOverrides['leases']>;

/** Makes a mesh in which each user has a share of two runs, and an agent with a gated model. */
async function stage({ waiting = 1_000 } = {}) {
  const world = memoryMesh({ limits: { running: () => 2, waiting: () => waiting } });
  const model = new GatedLlm({ model: 'gated' });
  /** Starts a replica, whose leases may differ. */
  const serve = async (leasesOf: (mesh: Mesh, die: () => void) => Leases = () => ({}), slots = 4) => {
    const mesh = await world.connect('agent_solo');
    const leases = leasesOf(mesh, () => world.hub.kill(mesh.bus));
    const wrapped = { ...mesh, sessions: overrideSessions(mesh.sessions, { leases }) };
    await serveAgent(wrapped, new LlmAgent({ name: 'solo', model }), {
      app: 'app',
      maxConcurrency: slots,
      sweepMs: 50,
    });
  };
  const client = await world.connect('client');
  const newSession = async (userId: string, sessionId?: string): Promise<SessionRef> => {
    const { id } = await world.sessions.createSession({
      appName: 'app',
      userId,
      ...(sessionId !== undefined && { sessionId }),
    });
    return { appName: 'app', userId, sessionId: id };
  };
  const say = async (
    ref: SessionRef,
    message: string,
    { timeoutMs, whenBusy = 'enqueue' }: { timeoutMs?: number; whenBusy?: WhenBusy } = {},
  ) => {
    const { userId: user, sessionId: session } = ref;
    const request = { app: 'app', user, session, message, whenBusy };
    const run = await startRun(client, request, timeoutMs === undefined ? {} : { timeoutMs });
    return { ...run, ref, all: Array.fromAsync(run.events) };
  };
  /** Begins runs of ann in sessions of their own, of which the first two are at work and the others wait. */
  const crowd = async (count: number) => {
    const runs: Awaited<ReturnType<typeof say>>[] = [];
    for (let n = 1; n <= count; n += 1) {
      runs.push(await say(await newSession('ann'), `hold ${n}`));
      if (n <= 2) await until(async () => model.atWork === n, { what: 'the run to begin' });
    }
    for (const { ref, ...run } of runs.slice(2)) await untilWaiting(client, ref, run);
    return runs;
  };
  const ends = async (runs: Pick<StartedRun, 'end'>[]) =>
    (await Promise.all(runs.map(({ end }) => end))).map(({ status, error }) => error?.code ?? status);
  return { world, model, serve, client, newSession, say, crowd, ends };
}

const completed = (count: number) => Array.from({ length: count }, () => 'completed');

it('another user’s run does not wait behind the runs of one user', async () => {
  const { world, model, serve, newSession, say, crowd, ends } = await stage();
  await serve();
  const runs = await crowd(20);
  expect(world.hub.queued('mesh.v1.agent.solo.run.*')).toBe(2);
  const other = await say(await newSession('ben'), 'hi');
  expect((await other.all).map(brief)).toEqual(['solo: re: hi']);
  model.gate.resolve();
  await Promise.all(runs.map(({ all }) => all));
  expect(await ends(runs)).toEqual(completed(20));
  expect(model.mostAtWork).toBe(2);
  expect(model.answered.toSorted()).toEqual(['hi', ...runs.map((_, n) => `hold ${n + 1}`)].sort());
  await until(async () => world.hub.queued('mesh.v1.agent.solo.run.*') === 0, {
    what: 'the queue to be empty',
  });
  expect(world.lines).toEqual([]);
});

it('runs that can only wait take no look at their sessions', async () => {
  const { model, serve, client, say, newSession, ends } = await stage();
  const early: unknown[] = [];
  await serve((mesh) => ({
    async take(ref, options) {
      const taken = await mesh.sessions.leases.take(ref, options);
      if (options.onlyWaits) early.push(taken);
      return taken;
    },
  }));
  const refs = await Promise.all(Array.from({ length: 9 }, () => newSession('ann')));
  const runs = await Promise.all(refs.map((ref, n) => say(ref, `hold ${n}`)));
  await until(
    async () => (await client.sessions.leases.countWaiting({ appName: 'app', userId: 'ann' })) === 7,
    {
      what: 'all others to wait',
    },
  );
  expect(early.length).toBeGreaterThan(0);
  expect(early).toEqual(early.map(() => ({ state: 'busy', isFull: true })));
  model.gate.resolve();
  await Promise.all(runs.map(({ all }) => all));
  expect(await ends(runs)).toEqual(completed(9));
});

it('a run that may not wait for its session, but waits behind an earlier run of its user, is told its own end', async () => {
  const { model, serve, crowd, say, newSession, ends } = await stage();
  await serve((mesh) => ({
    async take(ref, options) {
      const taken = await mesh.sessions.leases.take(ref, options);
      // As if the share had room, and the run that comes first had not begun yet.
      const { isFull, ...behind } = { isFull: undefined, ...taken };
      return isFull && !options.onlyWaits ? (behind as typeof taken) : taken;
    },
  }));
  const first = await crowd(2);
  const run = await say(await newSession('ann'), 'hi', { whenBusy: 'reject' });
  model.gate.resolve();
  await Promise.all([...first, run].map(({ all }) => all));
  expect(await ends([run])).toEqual(completed(1));
});

it('a session keeps its order while its runs wait for a share', async () => {
  const { model, serve, client, crowd, say, newSession, ends } = await stage();
  await serve();
  const first = await crowd(2);
  const ref = await newSession('ann');
  const runs = [await say(ref, 'one'), await say(ref, 'two'), await say(ref, 'three')];
  for (const run of runs) await untilWaiting(client, ref, run);
  model.gate.resolve();
  await Promise.all([...first, ...runs].map(({ all }) => all));
  expect(await ends(runs)).toEqual(completed(3));
  const session = await client.sessions.getSession(ref);
  expect(session?.events.map(brief)).toEqual(
    ['one', 'two', 'three'].flatMap((text) => [`user: ${text}`, `solo: re: ${text}`]),
  );
});

it('a cancelled run, a run past its deadline and a run of a deleted session end, and the others go on', async () => {
  const { model, serve, client, crowd, say, newSession, ends } = await stage();
  await serve();
  const runs = await crowd(5);
  const [, , cancelled, deleted] = runs;
  if (!cancelled || !deleted) throw new Error('there are five runs');
  const late = await say(await newSession('ann'), 'late', { timeoutMs: 50 });
  await untilWaiting(client, late.ref, late);
  await cancelInvocation(client, { ...cancelled.ref, invocationId: cancelled.invocationId });
  expect(await ends([await withAll(cancelled)])).toEqual(['cancelled']);
  await client.sessions.deleteSession(deleted.ref);
  // It is told before the share has room.
  expect(await ends([await withAll(deleted)])).toEqual(['not_found']);
  expect(model.answered).toEqual([]);
  await new Promise((resolve) => setTimeout(resolve, 60));
  model.gate.resolve();
  await Promise.all([...runs, late].map(({ all }) => all));
  expect(await ends([...runs, late])).toEqual([
    ...['completed', 'completed', 'cancelled', 'not_found', 'completed', 'deadline_exceeded'],
  ]);
});

async function withAll<T extends { all: Promise<unknown> }>(run: T): Promise<T> {
  await run.all;
  return run;
}

it('a later hop does not wait for a share', async () => {
  const world = memoryMesh({ limits: { running: () => 1, waiting: () => 1_000 } });
  const boss = new LlmAgent({
    name: 'boss',
    model: new ScriptedLlm(calls('transfer_to_agent', { agentName: 'helper' })),
    subAgents: [remoteAgent('helper')],
  });
  const helper = new LlmAgent({ name: 'helper', model: new ScriptedLlm(says('here')) });
  await serveAgent(await world.connect('agent_helper'), helper);
  await serveAgent(await world.connect('agent_boss'), boss, { app: 'app' });
  const { say } = await world.chat('app');
  const { events, end } = await say('go');
  expect(events.map(brief).at(-1)).toBe('helper: here');
  expect(end.status).toBe('completed');
});

it('a run is neither lost nor doubled when its replica dies between waiting and acknowledgement', async () => {
  const { world, model, serve, client, crowd, say, newSession, ends } = await stage();
  await serve(
    (mesh, die) => ({
      async take(ref, options) {
        const taken = await mesh.sessions.leases.take(ref, options);
        if (taken.state !== 'busy') return taken;
        die();
        return await new Promise<never>(() => {});
      },
    }),
    3,
  );
  const first = await crowd(2);
  const run = await say(await newSession('ann'), 'more');
  await untilWaiting(client, run.ref, run);
  await serve();
  model.gate.resolve();
  await Promise.all([...first, run].map(({ all }) => all));
  expect(await ends([...first, run])).toEqual(completed(3));
  expect(model.answered.filter((text) => text === 'more')).toEqual(['more']);
  await until(async () => world.hub.queued('mesh.v1.agent.solo.run.*') === 0, {
    what: 'the queue to be empty',
  });
});

it.each(['nextRun', 'promote'] as const)(
  'a waiting run begins, once, when the replica that ended another run dies before %s',
  async (step) => {
    const { world, model, serve, client, crowd, ends } = await stage();
    let deaths = 0;
    let areWaiting = false;
    await serve((mesh, die) => ({
      // The sweep takes the same steps while the runs arrive.
      [step]: async (...args: never[]) => {
        if (!areWaiting) return await Reflect.apply(mesh.sessions.leases[step], mesh.sessions.leases, args);
        deaths += 1;
        die();
        return await new Promise<never>(() => {});
      },
    }));
    const runs = await crowd(4);
    areWaiting = true;
    await serve();
    model.gate.resolve();
    await Promise.all(runs.map(({ all }) => all));
    expect(await ends(runs)).toEqual(completed(4));
    expect(deaths).toBeGreaterThan(0);
    expect(model.answered.slice(-2).sort()).toEqual(['hold 3', 'hold 4']);
    expect(await client.sessions.leases.countWaiting({ appName: 'app', userId: 'ann' })).toBe(0);
    await until(async () => world.hub.queued('mesh.v1.agent.solo.run.*') === 0, {
      what: 'the queue to be empty',
    });
  },
);

it('refuses a run of a user who has too many waiting runs, before it is accepted', async () => {
  const { model, serve, client, crowd, say, newSession, ends } = await stage({ waiting: 3 });
  await serve();
  const runs = await crowd(5);
  const ref = await newSession('ann');
  const error = {
    code: 'resource_exhausted',
    message: expect.stringContaining('user ann has 3 runs that wait'),
  };
  await expect(say(ref, 'hi')).rejects.toMatchObject(error);
  // A program that publishes by itself is told the end.
  const command = { app: 'app', user: 'ann', session: ref.sessionId, message: 'hi', invocationId: 'e-plain' };
  await client.bus.enqueue(client.subjects.agentRun('solo', ref.sessionId), command, { messageId: 'plain' });
  const record = () => client.sessions.invocations.get({ ...ref, invocationId: 'e-plain' });
  await until(async () => (await record()).status === 'failed', { what: 'the run to be refused' });
  expect(await record()).toMatchObject({ error });
  expect((await say(await newSession('ben'), 'hi')).invocationId).toBeDefined();
  model.gate.resolve();
  await Promise.all(runs.map(({ all }) => all));
  expect(await ends(runs)).toEqual(completed(5));
  expect((await (await say(ref, 'hi')).all).map(brief)).toEqual(['solo: re: hi']);
});
