import {
  FunctionTool,
  getFunctionCalls,
  LlmAgent,
  LongRunningFunctionTool,
  SequentialAgent,
} from '@agentmesh/agent';
import { newResumeId } from '@agentmesh/agent/internal';
import { type Event, every, everySession, type RunCommandInput } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { followRun, readInvocation } from '../client/follow-run.ts';
import { type StartedRun, startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { cancelInvocation } from './cancel-invocation.ts';

const resumabilityConfig = { isResumable: true };
const bothAtOnce = [...calls('pay'), ...calls('pay')];

function cashier() {
  const paid: number[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: 'pays',
    requireConfirmation: true,
    execute: () => ({ paid: paid.push(1) }),
  });
  return { pay, paid };
}

const readOf = async ({ events, end }: StartedRun) => ({
  told: (await Array.fromAsync(events)).map(brief),
  end: await end,
});

/**
 * Makes a session whose first invocation waits for answers; the agent is up, and can be stopped and started.
 */
async function waiting(model = new ScriptedLlm(bothAtOnce, says('both'))) {
  const world = memoryMesh();
  const { pay, paid } = cashier();
  const root = new LlmAgent({ name: 'root', model, tools: [pay] });
  const serve = async () =>
    await serveAgent(await world.connect('agent_root'), root, { app: 'app', resumabilityConfig });
  const served = await serve();
  const { client, ref, say } = await world.chat('app');
  const asked = await say('go');
  const { invocationId } = asked;
  const open = asked.events.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds);
  const commands: [subject: string, command: RunCommandInput][] = [];
  const noting: Mesh = {
    ...client,
    bus: {
      ...client.bus,
      directory: client.bus.directory,
      enqueue: async (subject, payload, options) => {
        commands.push([subject, payload as RunCommandInput]);
        return await client.bus.enqueue(subject, payload, options);
      },
    },
  };
  const answer = (id = open[0] ?? '', continued: string | undefined = invocationId) =>
    startRun(
      noting,
      {
        app: 'app',
        user: 'u',
        session: ref.sessionId,
        message: {
          role: 'user',
          parts: [
            { functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed: true } } },
          ],
        },
        ...(continued !== undefined && { invocationId: continued }),
      },
      { whenAbsent: 'enqueue' },
    );
  const log = async () => (await world.sessions.getSession(ref))?.events ?? [];
  return { world, client, ref, say, paid, open, answer, log, commands, serve, served, invocationId };
}

describe('an invocation that is continued', () => {
  it('continues with its id; each answer is a run with an end of its own', async () => {
    const { answer, open, log, invocationId, client, ref } = await waiting();
    const one = await answer(open[0]);
    expect(one.invocationId).toBe(invocationId);
    expect(await readOf(one)).toMatchObject({
      told: ['root: gets {"paid":1}'],
      end: { status: 'completed', resume: one.resume },
    });
    const two = await answer(open[1]);
    expect((await readOf(two)).told).toEqual(['root: gets {"paid":2}', 'root: both']);
    const events = await log();
    expect(new Set(events.map((event) => event.invocationId))).toEqual(new Set([invocationId]));
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    const state = await readInvocation(client, { ...ref, invocationId });
    expect(state).toMatchObject({ status: 'completed', resume: two.resume, llmCalls: 2 });
  });

  it('takes two answers at once, one after the other; each client gets the events of its own', async () => {
    const { answer, open, served, serve, log, paid } = await waiting();
    await served.stop({ graceMs: 1_000 });
    const runs = [await answer(open[1]), await answer(open[0])];
    await serve();
    const [one, two] = await Promise.all(runs.map(readOf));
    expect(one).toMatchObject({ told: ['root: gets {"paid":1}'], end: { status: 'completed' } });
    expect(two).toMatchObject({
      told: ['root: gets {"paid":2}', 'root: both'],
      end: { status: 'completed' },
    });
    expect(paid).toHaveLength(2);
    const events = await log();
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });

  it('takes the first of two equal answers; the second changes nothing', async () => {
    const { answer, open, served, serve, paid, client, ref, invocationId, log } = await waiting();
    await served.stop({ graceMs: 1_000 });
    const [one, two] = [await answer(open[0]), await answer(open[0])];
    await serve();
    await readOf(one);
    expect((await readOf(two)).end).toMatchObject({
      status: 'failed',
      error: { code: 'failed_precondition', details: { reason: 'message_refused' } },
    });
    expect(paid).toHaveLength(1);
    const state = await readInvocation(client, { ...ref, invocationId });
    expect(state).toMatchObject({ status: 'completed', resume: one.resume });
    expect((await log()).filter(({ errorCode }) => errorCode)).toEqual([]);
    expect((await readOf(await answer(open[1]))).told.at(-1)).toBe('root: both');
  });

  it('only publishes the end of a run again when its command is delivered again', async () => {
    const { answer, open, log, commands, client, paid, ref } = await waiting();
    const one = await answer(open[0]);
    await readOf(one);
    const two = await answer(open[1]);
    await readOf(two);
    const before = await log();
    for (const [n, [subject, command]] of commands.entries()) {
      const ends: unknown[] = [];
      const subscription = await client.bus.subscribe(
        client.subjects.invocationWatch(everySession, one.invocationId),
        (message) => void ends.push(message.json()),
      );
      await client.bus.enqueue(subject, command, { messageId: `again ${n}` });
      await expect
        .poll(() => ends)
        .toEqual([expect.objectContaining({ status: 'completed', resume: [one, two][n]?.resume })]);
      await subscription.stop();
    }
    expect(await log()).toEqual(before);
    expect(paid).toHaveLength(2);
    const state = await readInvocation(client, { ...ref, invocationId: one.invocationId });
    expect(state).toMatchObject({ status: 'completed', resume: two.resume });
  });

  it('can be followed again: the whole invocation, or one of its runs', async () => {
    const { answer, open, client, ref, invocationId, served, serve } = await waiting();
    const here = { ...ref, invocationId };
    const one = await answer(open[0]);
    await readOf(one);
    await served.stop({ graceMs: 1_000 });
    const two = await answer(open[1]);
    const ofTwo = { ...here, resume: two.resume };
    await expect(followRun(client, ofTwo)).rejects.toMatchObject({ code: 'not_found' });
    expect(await readInvocation(client, here)).toMatchObject({ status: 'completed', resume: one.resume });
    await serve();
    await readOf(two);
    const told = async (place: typeof here & { resume?: string | undefined }, afterSeq = 0) => {
      const { numbered, end, state } = await followRun(client, place, { afterSeq });
      const events = (await Array.fromAsync(numbered)).map(({ event }) => brief(event));
      return { events, end: await end, state };
    };
    expect((await told(ofTwo)).events).toEqual(['root: gets {"paid":2}', 'root: both']);
    expect((await told(ofTwo)).state).toMatchObject({ status: 'completed', resume: two.resume });
    const all = await told(here);
    expect(all.events).toEqual([
      'root: calls pay',
      'root: calls adk_request_confirmation',
      'root: gets {"paid":1}',
      'root: gets {"paid":2}',
      'root: both',
    ]);
    expect((await told(here, all.state.lastSeq - 1)).events).toEqual(['root: both']);
  });

  it('is followed to the end of the present run, whatever is published about others', async () => {
    const go = Promise.withResolvers<void>();
    const model = new ScriptedLlm(calls('pay'), says('paid'));
    const { generateContentAsync } = model;
    let asked = 0;
    model.generateContentAsync = async function* (...args) {
      asked += 1;
      if (asked === 2) await go.promise;
      yield* generateContentAsync.apply(model, args);
    };
    const { answer, client, ref, invocationId } = await waiting(model);
    const run = await answer();
    await expect.poll(() => asked).toBe(2);
    const back = await followRun(client, { ...ref, invocationId }, { afterSeq: 4 });
    expect(back.state).toMatchObject({ status: 'running', resume: run.resume });
    // A repetition of the end of the first run.
    await client.bus.publish(
      client.subjects.sessionNews(ref, invocationId, 'agent_root'),
      { status: 'completed', lastSeq: 3 },
      { headers: { 'Mesh-Frame': 'result' } },
    );
    go.resolve();
    const events = await Array.fromAsync(back.numbered);
    expect(events.map(({ event }) => brief(event)).at(-1)).toBe('root: paid');
    expect(await back.end).toMatchObject({ status: 'completed', resume: run.resume });
    expect((await readOf(run)).told.at(-1)).toBe('root: paid');
  });

  it('waits for other runs of the session, and can be cancelled meanwhile', async () => {
    const { answer, world, ref, client, invocationId, paid, open } = await waiting();
    const other = { ...ref, invocationId: 'e-other' };
    await world.sessions.leases.take(other, { run: 'another run', whenBusy: 'reject' });
    const run = await answer();
    await expect.poll(() => world.hub.queued(client.subjects.workSubject('run', 'root'))).toBe(0);
    expect(await cancelInvocation(client, { ...ref, invocationId }, 'enough')).toMatchObject({
      status: 'completed',
    });
    expect((await readOf(run)).end).toMatchObject({ status: 'failed', error: { code: 'cancelled' } });
    await world.sessions.invocations.end(other, { status: 'completed' });
    expect(paid).toEqual([]);
    expect((await readOf(await answer(open[0]))).told).toEqual(['root: gets {"paid":1}']);
  });

  it('is not stopped by a cancellation of an earlier one that waited, nor of the run that asked', async () => {
    const { answer, world, ref, client, invocationId, open } = await waiting();
    const cancel = (resume?: string) =>
      cancelInvocation(client, { ...ref, invocationId, resume }, 'enough', { untaken: true });
    const other = { ...ref, invocationId: 'e-other' };
    await world.sessions.leases.take(other, { run: 'another run', whenBusy: 'reject' });
    const run = await answer();
    await expect.poll(() => world.hub.queued(client.subjects.workSubject('run', 'root'))).toBe(0);
    await cancel(run.resume);
    expect((await readOf(run)).end).toMatchObject({ error: { code: 'cancelled' } });
    expect((await cancel()).status).toBe('completed');
    await world.sessions.invocations.end(other, { status: 'completed' });
    expect(await readOf(await answer(open[0]))).toMatchObject({
      ...{ told: ['root: gets {"paid":1}'], end: { status: 'completed' } },
    });
  });

  it('is not stopped by a cancellation of a later one that waits', async () => {
    const { answer, world, ref, client, invocationId, open } = await waiting();
    const atWork = { ...ref, invocationId, resume: 'r-work' };
    await world.sessions.leases.take(atWork, { run: 'a run at work', whenBusy: 'reject' });
    const told: unknown[] = [];
    await client.bus.subscribe(client.subjects.invocationCancel(invocationId, every), (message) =>
      told.push(message.json()),
    );
    const run = await answer(open[1]);
    await expect.poll(() => world.hub.queued(client.subjects.workSubject('run', 'root'))).toBe(0);
    await cancelInvocation(client, { ...ref, invocationId, resume: run.resume }, 'enough');
    expect((await readOf(run)).end).toMatchObject({ error: { code: 'cancelled' } });
    expect(told).toEqual([]);
    await cancelInvocation(client, atWork, 'this too');
    await expect.poll(() => told).toMatchObject([{ reason: 'this too' }]);
  });

  it.each<[string, (id: string) => string]>([
    ['another id', () => 'e-other'],
    ['the id of another session', (id) => `${id}x`],
  ])('only by the id that asked: %s is refused before anything is enqueued', async (_what, forge) => {
    const { answer, invocationId, commands, log, world, ref } = await waiting();
    const before = [await log(), await world.sessions.pending.list(ref)];
    await expect(answer(undefined, forge(invocationId))).rejects.toMatchObject({
      code: 'failed_precondition',
    });
    expect(commands).toEqual([]);
    expect([await log(), await world.sessions.pending.list(ref)]).toEqual(before);
  });

  it('is not continued by a command that bypasses the check', async () => {
    const { invocationId, client, ref, world, log } = await waiting();
    const before = await log();
    const resume = newResumeId();
    const command: RunCommandInput = {
      invocationId,
      resume,
      app: 'app',
      user: 'u',
      session: ref.sessionId,
      message: 'I say so',
    };
    await client.bus.enqueue(client.subjects.agentRun('root', command.session ?? ''), command, {
      messageId: 'forged',
    });
    const record = () => world.sessions.invocations.get({ ...ref, invocationId });
    await expect.poll(async () => (await record()).ends?.get(resume)).toMatchObject({ status: 'failed' });
    expect(await record()).toMatchObject({ status: 'completed' });
    expect(await log()).toEqual(before);
  });
});

describe('an app that is not resumable', () => {
  it('refuses the id, and takes the answer without it', async () => {
    const world = memoryMesh();
    const { pay, paid } = cashier();
    const model = new ScriptedLlm(calls('pay'), says('paid'));
    const root = new LlmAgent({ name: 'root', model, tools: [pay] });
    await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
    const { client, ref, say } = await world.chat('app');
    const { events, invocationId } = await say('go');
    const id = events.flatMap(getFunctionCalls).at(-1)?.id ?? '';
    const request = {
      app: 'app',
      user: 'u',
      session: ref.sessionId,
      message: { role: 'user', parts: [{ functionResponse: { id, response: { confirmed: true } } }] },
    };
    await expect(startRun(client, { ...request, invocationId })).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('isResumable'),
    });
    expect((await readOf(await startRun(client, request))).told).toEqual([
      'root: gets {"paid":1}',
      'root: paid',
    ]);
    expect(paid).toHaveLength(1);
  });
});

describe('a conversation over processes that is continued', () => {
  const answerTo = async (client: Mesh, session: string, invocationId: string, events: readonly Event[]) => {
    const id = events.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds).at(-1) ?? '';
    const parts = [{ functionResponse: { id, response: { confirmed: true } } }];
    const message = { role: 'user', parts };
    return await readOf(await startRun(client, { app: 'app', user: 'u', session, message, invocationId }));
  };

  it('continues at the agent that has it, which may hand it on again', async () => {
    const world = memoryMesh();
    const { pay } = cashier();
    const toRoot = calls('transfer_to_agent', { agentName: 'root' });
    const helper = new LlmAgent({
      name: 'helper',
      model: new ScriptedLlm(calls('pay'), toRoot),
      tools: [pay],
    });
    const root = new LlmAgent({
      name: 'root',
      model: new ScriptedLlm(calls('transfer_to_agent', { agentName: 'helper' }), says('welcome back')),
      subAgents: [remoteAgent('helper')],
    });
    await serveAgent(await world.connect('agent_helper'), helper);
    await serveAgent(await world.connect('agent_root'), root, { app: 'app', resumabilityConfig });
    const { client, ref, say } = await world.chat('app');
    const { events, invocationId } = await say('go');
    const { told, end } = await answerTo(client, ref.sessionId, invocationId, events);
    expect(told[0]).toBe('helper: gets {"paid":1}');
    expect(told.at(-1)).toBe('root: welcome back');
    expect(end).toMatchObject({ status: 'completed' });
  });

  it('continues at an agent that had handed over before it got its answer', async () => {
    const world = memoryMesh();
    const { pay, paid } = cashier();
    const helper = new LlmAgent({ name: 'helper', model: new ScriptedLlm(says('I help')) });
    const both = [...calls('pay'), ...calls('transfer_to_agent', { agentName: 'helper' })];
    const root = new LlmAgent({
      name: 'root',
      model: new ScriptedLlm(both, says('paid')),
      tools: [pay],
      subAgents: [remoteAgent('helper')],
    });
    await serveAgent(await world.connect('agent_helper'), helper);
    await serveAgent(await world.connect('agent_root'), root, { app: 'app', resumabilityConfig });
    const { client, ref, say } = await world.chat('app');
    const { events, invocationId } = await say('go');
    expect(events.map(brief).at(-1)).toBe('helper: I help');
    const { told } = await answerTo(client, ref.sessionId, invocationId, events);
    expect(told[0]).toBe('root: gets {"paid":1}');
    expect(paid).toHaveLength(1);
  });

  it.each([
    ['a step elsewhere', true],
    ['its own', false],
  ])('starts long work of %s for the first time, and goes on behind it', async (_what, isRemote) => {
    const world = memoryMesh();
    let shipped = 0;
    const ship = new LongRunningFunctionTool({
      name: 'ship',
      description: 'ships',
      requireConfirmation: true,
      execute: async function* () {
        shipped += 1;
        yield { half: true };
        return { shipped: true };
      },
    });
    const shipper = new LlmAgent({
      name: 'shipper',
      model: new ScriptedLlm(calls('ship'), says('it is on its way')),
      tools: [ship],
    });
    const booker = new LlmAgent({ name: 'booker', model: new ScriptedLlm(says('booked')) });
    const pipeline = new SequentialAgent({
      name: 'pipeline',
      subAgents: [isRemote ? remoteAgent('shipper') : shipper, booker],
    });
    if (isRemote) await serveAgent(await world.connect('agent_shipper'), shipper);
    await serveAgent(await world.connect('agent_pipeline'), pipeline, { app: 'app', resumabilityConfig });
    const { client, ref, say } = await world.chat('app');
    const { events, invocationId } = await say('go');
    const { told } = await answerTo(client, ref.sessionId, invocationId, events);
    expect(told).toEqual([
      'shipper: gets {"half":true}',
      'shipper: gets {"shipped":true}',
      'shipper: it is on its way',
      'booker: booked',
    ]);
    expect(shipped).toBe(1);
  });
});
