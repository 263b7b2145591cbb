import { App, type Event, getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import type { Sample } from '@agentmesh/deploy/samples';
import { agentManifest, toolManifest } from '@agentmesh/mesh';
import { attemptOf, type DeadLetter, subjects } from '@agentmesh/protocol';
import {
  latestFunctionResponses,
  type ScriptedGemini,
  seededRandom,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { natsLogin } from '../nats-login.ts';
import { lastText, restClient } from '../rest-client.ts';
import { clerk, copy } from './operations/definitions.ts';

const folder = 'test/scenarios/operations';
const agent: Sample = {
  manifest: agentManifest(new App({ name: 'clerk_app', rootAgent: clerk })),
  folder: `${folder}/agent`,
};
const tool: Sample = { manifest: toolManifest(copy), folder: `${folder}/tool` };
const names = subjects();

let model: ScriptedGemini;
let mesh: LocalMesh;
const workers: LocalMesh['processes'] = [];
let client: ReturnType<typeof restClient>;
/** The connection of another program, with the rights of a client. */
let outside: NatsConnection;

beforeAll(async () => {
  model = await startScriptedGemini({
    script: (request) => {
      const responses = latestFunctionResponses(request);
      const states = responses.map(({ response }) => response?.status);
      if (states.includes('completed')) return { text: 'heard completed' };
      const expired = responses.filter(({ response }) => response?.expired).length;
      const tail = expired > 0 ? `, ${expired} expired` : '';
      if (responses.length > 0)
        return { text: `${states.filter((state) => state === 'approved').length} approved${tail}` };
      const text = request.contents.at(-1)?.parts?.at(-1)?.text ?? '';
      const [, count, name = ''] = /^(\d+) ([\w.:]+)$/.exec(text) ?? [];
      return { calls: Array.from({ length: Number(count) }, (_, n) => ({ name, args: { n } })) };
    },
  });
  mesh = await launchMesh({
    services: [agent, tool],
    ackWaitMs: 1_000,
    env: { MODEL_URL: model.url, PACE_MS: '400' },
  });
  workers.push(...mesh.processes, ...(await Promise.all([mesh.start(agent), mesh.start(tool)])));
  client = restClient(mesh.gatewayUrl);
  outside = await connect({
    servers: mesh.natsUrl,
    inboxPrefix: names.inboxPrefix('client'),
    ...natsLogin(mesh.login('client')),
  });
}, 60_000);
afterAll(async () => {
  await outside?.close();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

async function logOf(session: string, user = 'u1'): Promise<Event[]> {
  const response = await client.send('GET', `/apps/clerk_app/users/${user}/sessions/${session}`);
  return ((await response.json()) as { events: Event[] }).events;
}

/** Asks for the pending calls over NATS. */
async function pendingOf(
  user: string,
  session?: string,
): Promise<{ id: string; operationSubject: string }[]> {
  const request = { app: 'clerk_app', user, ...(session !== undefined && { session }) };
  const reply = await outside.request(names.pending, JSON.stringify(request), { timeout: 10_000 });
  return reply.json<{ pending: { id: string; operationSubject: string }[] }>().pending;
}

const callsEach = 4;

/** Makes sessions of a user with four pending calls each. */
async function askAround(user: string, sessions: number): Promise<string[]> {
  return await inParallel(sessions, 16, async () => {
    const session = await client.createSession('clerk_app', user);
    const events = await client.events('clerk_app', session, `${callsEach} approve`, { userId: user });
    expect(lastText(events)).toBe('0 approved');
    return session;
  });
}

/** Publishes each outcome twice: once in order, and between them once in random order. */
async function approveTwice(pending: { id: string; operationSubject: string }[]): Promise<void> {
  const outcomes = pending.map(({ operationSubject, id }) => ({
    subject: operationSubject,
    body: JSON.stringify({ final: true, response: { status: 'approved', ticket: id }, by: 'eve' }),
  }));
  const shuffled = seededRandom(5).shuffle(outcomes);
  for (const [n, first] of outcomes.entries()) {
    for (const { subject, body } of [first, shuffled[n] ?? first]) outside.publish(subject, body);
  }
  await outside.flush();
}

const words = (events: Event[]) =>
  events.flatMap(({ author, content }) => (author === 'user' ? [] : (content?.parts?.[0]?.text ?? [])));

/**
 * Waits for the last event of each session, and checks that each call has one outcome and that the agent has
 * answered each once. Returns the number of runs that another replica took over: one that NATS does not hear for a
 * second loses its runs, and a machine may stand still for so long.
 */
async function expectEachOnce(user: string, sessions: readonly string[]): Promise<number> {
  const nonePending = async () => (await pendingOf(user)).length === 0;
  await until(nonePending, { timeoutMs: 240_000, what: 'all to be answered' });
  const logs = await inParallel(sessions.length, 16, async (n) => {
    const log = () => logOf(sessions[n] ?? '', user);
    await until(async () => words(await log()).length > callsEach, { timeoutMs: 60_000 });
    return await log();
  });
  for (const events of logs) {
    const calls = events.flatMap(getFunctionCalls).map(({ id }) => id);
    expect(calls).toHaveLength(callsEach);
    const answers = events.filter(({ author }) => author === 'user').flatMap(getFunctionResponses);
    expect(answers.map(({ id }) => id).sort()).toEqual([...calls].sort());
    for (const { id, response } of answers) expect(response).toEqual({ status: 'approved', ticket: id });
    // Each outcome wakes the agent for one answer, one after the other.
    expect(words(events)).toEqual(Array.from({ length: 1 + callsEach }, (_, n) => `${n} approved`));
    expect(new Set(events.map(({ invocationId }) => invocationId)).size).toBe(1 + callsEach);
  }
  return logs.flat().filter((event) => (attemptOf(event)?.number ?? 1) > 1).length;
}

describe('calls that wait', () => {
  it('get one outcome each, a thousand of them, although every outcome comes twice and in random order', async () => {
    const sessions = await askAround('u1', 250);
    const pending = await pendingOf('u1');
    expect(pending).toHaveLength(1_000);
    const before = model.requests.length;
    await approveTwice(pending);
    const takenOver = await expectEachOnce('u1', sessions);
    const asked = model.requests.length - before;
    expect(asked).toBeGreaterThanOrEqual(1_000);
    expect(asked).toBeLessThanOrEqual(1_000 + takenOver);
  }, 400_000);

  it('get one outcome each while the processes of their agent are killed', async () => {
    const sessions = await askAround('u2', 100);
    const killing = new AbortController();
    const killed = (async () => {
      for (let kills = 0; ; ) {
        const heir = await mesh.start(agent);
        const [victim] = workers.filter(({ name }) => name === 'clerk');
        workers.splice(workers.indexOf(victim as (typeof workers)[number]), 1, heir);
        await victim?.kill();
        kills += 1;
        if (kills > 2 && killing.signal.aborted) return kills;
      }
    })();
    await approveTwice(await pendingOf('u2'));
    await until(async () => (await pendingOf('u2')).length === 0, { timeoutMs: 120_000 });
    killing.abort();
    await killed;
    await expectEachOnce('u2', sessions);
  }, 240_000);
});

describe('a job whose worker ends half way', () => {
  it.each([
    ['is killed', 'kill'],
    ['is told to stop', 'stop'],
  ] as const)(
    'goes on from another replica when it %s, and the model hears of one end',
    async (_what, how) => {
      // The heir starts before the job: on a busy machine the job would end before a later start.
      workers.push(await mesh.start(tool));
      const session = await client.createSession('clerk_app');
      const running = client.events('clerk_app', session, `1 ${copy.name}`);
      const said = async () => (await logOf(session)).flatMap(getFunctionResponses);
      await until(async () => (await said()).length >= 3);
      const worker = Number((await said()).at(-1)?.response?.pid);
      const service = workers.find(({ pid }) => pid === worker);
      expect(service).toBeDefined();
      await service?.[how]();
      await running;
      await until(async () => lastText(await logOf(session)) === 'heard completed', { timeoutMs: 30_000 });
      const responses = await said();
      const ends = responses.filter(({ response }) => response?.status === 'completed');
      expect(ends).toHaveLength(1);
      expect(ends[0]?.response?.pid).not.toBe(worker);
      const steps = responses.filter(({ willContinue }) => willContinue).map(({ response }) => response);
      // Each step is reported once, in order, first by one worker and then by the other.
      expect(steps.map((step) => step?.copied)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(new Set(steps.map((step) => step?.attempt))).toEqual(new Set([1, 2]));
      expect(await pendingOf('u1', session)).toEqual([]);
    },
    60_000,
  );
});

describe('a call with a deadline', () => {
  it('ends without an answer, and a late one changes nothing', async () => {
    const session = await client.createSession('clerk_app');
    await client.events('clerk_app', session, '1 hurry');
    const [call] = (await logOf(session)).flatMap(getFunctionCalls);
    await until(async () => lastText(await logOf(session)) === '0 approved, 1 expired', {
      timeoutMs: 30_000,
    });
    const log = await logOf(session);
    const [ended] = log.filter(({ author }) => author === 'user').flatMap(getFunctionResponses);
    expect(ended).toMatchObject({ id: call?.id, response: { expired: true } });
    const response = { status: 'approved' };
    const late = await client.send('POST', '/run', {
      app_name: 'clerk_app',
      user_id: 'u1',
      session_id: session,
      new_message: {
        role: 'user',
        parts: [{ function_response: { id: call?.id, name: 'hurry', response } }],
      },
    });
    expect(late.status).toBe(412);
    const letters: DeadLetter[] = [];
    const operator = await connect({ servers: mesh.natsUrl, ...natsLogin(mesh.login('provision')) });
    operator.subscribe(names.dead('agent', 'clerk'), {
      callback: (_error, message) => void letters.push(message.json<DeadLetter>()),
    });
    await operator.flush();
    outside.publish(
      names.operation('clerk', call?.id ?? '', 'client'),
      JSON.stringify({ final: true, response }),
    );
    await until(() => letters.length > 0);
    await operator.close();
    expect(letters).toMatchObject([
      { payload: { final: true, response }, error: { code: 'failed_precondition' } },
    ]);
    expect(await logOf(session)).toEqual(log);
  }, 60_000);
});

/** Calls `work` for 0 to `count` - 1, `width` at a time. */
async function inParallel<T>(count: number, width: number, work: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const n = next;
      next += 1;
      results[n] = await work(n);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}
