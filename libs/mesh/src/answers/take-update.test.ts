import { FunctionTool, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { every, everySession } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { ticketed } from './ticketed.fixture.ts';

describe('the outcome of a long-running call', () => {
  it('comes as a message, and the calling agent responds to it', async () => {
    const chat = await ticketed(says('approved!'));
    const run = await chat.say('buy it');
    expect(run.events.map(brief)).toEqual([
      'solo: calls approve',
      'solo: gets {"status":"pending","ticket":7}',
      'solo: I asked',
    ]);
    expect(chat.seen.subject).toBe(`mesh.v1.operation.solo.${chat.seen.callId}.client`);
    await chat.update({ final: true, response: { status: 'approved' } });
    await until(async () => (await chat.briefs()).at(-1) === 'solo: approved!');
    expect((await chat.briefs()).slice(-2)).toEqual(['user: gets {"status":"approved"}', 'solo: approved!']);
    expect(await chat.world.sessions.pending.list(chat.ref)).toEqual([]);
    expect(chat.model.requests).toHaveLength(3);
  });

  it('counts once, however often it is delivered; a different one becomes a dead letter', async () => {
    const chat = await ticketed(says('approved!'));
    await chat.say('buy it');
    const outcome = { final: true, response: { status: 'approved', by: 'eve' } };
    await chat.update(outcome);
    await chat.update({ response: { by: 'eve', status: 'approved' }, final: true });
    await until(async () => (await chat.briefs()).at(-1) === 'solo: approved!');
    await chat.update(outcome);
    await chat.drained();
    expect(chat.deadLetters()).toBe(0);
    await chat.update({ final: true, response: { status: 'rejected' } });
    await chat.drained();
    expect(await chat.deadLetter()).toMatchObject({
      subject: chat.seen.subject,
      payload: { final: true, response: { status: 'rejected' } },
      error: { code: 'failed_precondition', message: expect.stringContaining('answered before') },
    });
    expect((await chat.briefs()).filter((each) => each.startsWith('user: gets'))).toHaveLength(1);
  });

  it('waits for the end of the calling invocation', async () => {
    let answer = () => {};
    const chat = await ticketed(says('approved!'));
    const slow = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const inner = chat.model.generateContentAsync.bind(chat.model);
    let requests = 0;
    chat.model.generateContentAsync = async function* (request) {
      requests += 1;
      if (requests === 2) await slow;
      yield* inner(request);
    };
    const run = chat.say('buy it');
    await until(() => requests === 2);
    await chat.update({ final: true, response: { status: 'approved' } });
    answer();
    await run;
    await until(async () => (await chat.briefs()).at(-1) === 'solo: approved!');
    expect(await chat.briefs()).toEqual([
      'user: buy it',
      'solo: calls approve',
      'solo: gets {"status":"pending","ticket":7}',
      'solo: I asked',
      'user: gets {"status":"approved"}',
      'solo: approved!',
    ]);
  });

  it('may be kept without a turn of the agent, and may change state', async () => {
    const chat = await ticketed(says('approved!'));
    await chat.say('buy it');
    await chat.update({
      final: true,
      response: 'fine',
      wake: false,
      by: 'eve',
      stateDelta: { 'user:asked': true },
    });
    await chat.drained();
    expect((await chat.briefs()).at(-1)).toBe('solo: gets {"result":"fine"}');
    expect((await chat.log()).at(-1)?.customMetadata).toMatchObject({
      answeredBy: { by: 'eve', via: 'nats' },
    });
    expect((await chat.world.sessions.getSession(chat.ref))?.state).toEqual({ 'user:asked': true });
    expect(await chat.world.sessions.pending.list(chat.ref)).toEqual([]);
    expect(chat.model.requests).toHaveLength(2);
  });

  it('may be an error', async () => {
    const chat = await ticketed(says('sorry'));
    await chat.say('buy it');
    await chat.update({ final: true, error: 'nobody is there', stateDelta: { asked: true } });
    await until(async () => (await chat.briefs()).at(-1) === 'solo: sorry');
    expect((await chat.briefs()).at(-2)).toBe('user: gets {"error":"nobody is there"}');
    expect((await chat.world.sessions.getSession(chat.ref))?.state).toEqual({ asked: true });
  });
});

describe('progress of a long-running call', () => {
  it('is kept and shown without a turn of the model', async () => {
    const chat = await ticketed(says('approved!'));
    const run = await chat.say('buy it');
    await chat.update({ final: false, response: { percent: 50 }, seq: 2 });
    await chat.update({ final: false, response: { percent: 50 }, seq: 2 });
    await chat.update({ final: false, response: { percent: 25 }, seq: 1 });
    await chat.update({ final: false, response: { word: 'soon' } });
    await chat.drained();
    const kept = (await chat.log()).slice(4);
    // The second progress waits for the first one; the word of another program has no number.
    expect(kept.map(brief)).toEqual([
      ...['solo: gets {"percent":25}', 'solo: gets {"word":"soon"}', 'solo: gets {"percent":50}'],
    ]);
    expect(new Set(kept.map(({ invocationId }) => invocationId))).toEqual(new Set([run.invocationId]));
    expect(chat.model.requests).toHaveLength(2);
    expect(
      await chat.world.sessions.invocations.get({ ...chat.ref, invocationId: run.invocationId }),
    ).toMatchObject({
      status: 'completed',
    });
    await chat.update({ final: true, response: { status: 'approved' } });
    await until(async () => (await chat.briefs()).at(-1) === 'solo: approved!');
    await chat.update({ final: false, response: { percent: 90 }, seq: 3 });
    await chat.drained();
    expect(chat.deadLetters()).toBe(0);
    await chat.update({ final: false, response: { percent: 90 } });
    await chat.drained();
    expect(chat.deadLetters()).toBe(0);
    expect((await chat.briefs()).at(-1)).toBe('solo: approved!');
  });

  it('causes a turn of the model on request', async () => {
    const chat = await ticketed(says('half done'), says('approved!'));
    await chat.say('buy it');
    await chat.update({ final: false, response: { percent: 50 }, wake: true });
    await until(async () => (await chat.briefs()).at(-1) === 'solo: half done');
    expect(await chat.world.sessions.pending.list(chat.ref)).toHaveLength(1);
    await chat.update({ final: true, response: {} });
    await until(async () => (await chat.briefs()).at(-1) === 'solo: approved!');
  });
});

describe('an update that cannot be taken', () => {
  it.each([
    ['no JSON object', 'hello', 'invalid_argument', /update of call/],
    ['without final', { response: {} }, 'invalid_argument', /final is missing/],
    [
      'both response and error',
      { final: true, response: {}, error: 'x' },
      'invalid_argument',
      /either a response or an error/,
    ],
    ['nothing said', { final: true }, 'invalid_argument', /either a response or an error/],
    ['a misspelled field', { final: true, respons: {} }, 'invalid_argument', /respons/],
    [
      'in another session',
      { final: true, response: {}, app: 'app', user: 'u', session: 'other' },
      'not_found',
      /no call/,
    ],
    ['of another user', { final: true, response: {}, user: 'mallory' }, 'not_found', /no call/],
  ])('becomes a dead letter with the reason: %s', async (_what, update, code, message) => {
    const chat = await ticketed(says('never'));
    await chat.say('buy it');
    const before = await chat.briefs();
    await chat.update(update);
    await chat.drained();
    expect(await chat.deadLetter()).toMatchObject({
      error: { code, message: expect.stringMatching(message) },
    });
    expect(await chat.briefs()).toEqual(before);
    expect(await chat.world.sessions.pending.list(chat.ref)).toHaveLength(1);
  });

  it('becomes a dead letter when nobody made such a call', async () => {
    const chat = await ticketed();
    await chat.say('buy it');
    await chat.update(
      { final: true, response: {} },
      chat.client.subjects.operation('solo', 'adk-unknown', 'client'),
    );
    await chat.drained();
    expect(await chat.deadLetter()).toMatchObject({ error: { code: 'not_found' } });
  });
});

describe('a resumable app', () => {
  it('continues the calling invocation', async () => {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    const tool = new LongRunningFunctionTool({
      name: 'approve',
      description: 'asks a manager',
      execute: () => ({ status: 'pending' }),
    });
    const model = new ScriptedLlm(calls('approve'), says('I asked'), says('half'), says('approved!'));
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [tool] }), {
      app: 'app',
      resumabilityConfig: { isResumable: true },
    });
    const { say, client, ref } = await world.chat('app');
    const run = await say('go');
    const [call] = await world.sessions.pending.list(ref);
    const subject = client.subjects.operation('solo', call?.id ?? '', 'client');
    const log = async () => (await world.sessions.getSession(ref))?.events ?? [];
    const last = async () => (await log()).map(brief).at(-1);
    await client.bus.enqueue(subject, { final: false, response: { n: 1 }, wake: true }, { messageId: 'a' });
    await until(async () => (await last()) === 'solo: half');
    for (const messageId of ['b', 'c'])
      await client.bus.enqueue(subject, { final: true, response: { ok: true } }, { messageId });
    await until(async () => (await last()) === 'solo: approved!');
    expect(new Set((await log()).map(({ invocationId }) => invocationId))).toEqual(
      new Set([run.invocationId]),
    );
    expect((await log()).map(brief).filter((line) => line === 'user: gets {"ok":true}')).toHaveLength(1);
    expect(world.hub.queued(client.subjects.dead('agent', 'solo'))).toBe(0);
  });
});

describe('an outcome that comes in two ways', () => {
  it('counts once: a client cannot approve what was rejected over NATS', async () => {
    const chat = await ticketed(says('rejected'));
    await chat.say('buy it');
    await chat.update({ final: true, response: { status: 'rejected' } });
    await until(async () => (await chat.briefs()).at(-1) === 'solo: rejected');
    const functionResponse = {
      id: chat.seen.callId ?? '',
      name: 'approve',
      response: { status: 'approved' },
    };
    const message = { role: 'user', parts: [{ functionResponse }] };
    await expect(
      startRun(chat.client, { app: 'app', user: 'u', session: chat.ref.sessionId, message }),
    ).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('answered before'),
    });
  });
});

describe('a question to a person', () => {
  it.each([
    ['as we spell it', { exchangedAuthCredential: { apiKey: 'SECRET' } }],
    ['in snake_case', { exchanged_auth_credential: { api_key: 'SECRET' } }],
    ['as text', { response: '{"exchangedAuthCredential":{"apiKey":"SECRET"}}' }],
  ])('leaves no credential in a dead letter: %s', async (_how, response) => {
    const chat = await ticketed(says('never'));
    await chat.say('buy it');
    await chat.update(
      { final: true, response },
      chat.client.subjects.operation('solo', 'adk-unknown', 'client'),
    );
    await chat.drained();
    const letter = await chat.deadLetter();
    expect(letter.payload).toMatchObject({ final: true });
    expect(JSON.stringify(letter)).not.toContain('SECRET');
  });

  it('is answered by a message too', async () => {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    const pay = new FunctionTool({
      name: 'pay',
      description: 'pays',
      requireConfirmation: true,
      execute: () => ({ paid: true }),
    });
    const model = new ScriptedLlm(calls('pay'), says('paid'));
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [pay] }), { app: 'app' });
    const { say, client, ref } = await world.chat('app');
    await say('pay');
    const [question] = await world.sessions.pending.list(ref);
    const subject = client.subjects.operation('solo', question?.id ?? '', 'client');
    await client.bus.enqueue(subject, { final: true, response: { confirmed: 'maybe' } }, { messageId: '1' });
    await client.bus.enqueue(subject, { final: true, response: { confirmed: true } }, { messageId: '2' });
    const log = async () => ((await world.sessions.getSession(ref))?.events ?? []).map(brief);
    await until(async () => (await log()).at(-1) === 'solo: paid');
    expect((await log()).slice(-3)).toEqual([
      'user: gets {"confirmed":true}',
      'solo: gets {"paid":true}',
      'solo: paid',
    ]);
    expect(world.hub.queued(client.subjects.dead('agent', 'solo'))).toBe(1);
  });
});

describe('a notifier', () => {
  it('hears of new pending calls and of their answers', async () => {
    const chat = await ticketed(says('approved!'));
    const news: unknown[] = [];
    await chat.client.bus.subscribe(chat.client.subjects.sessionPending(everySession, every), (message) =>
      news.push([message.subject, message.json()]),
    );
    await chat.say('buy it');
    await chat.update({ final: true, response: {} });
    await until(() => news.length === 2);
    const subject = chat.client.subjects.sessionPending(chat.ref, 'agent_solo');
    expect(news).toEqual([
      [
        subject,
        {
          change: 'opened',
          callId: chat.seen.callId,
          call: expect.objectContaining({ name: 'approve', kind: 'result', service: 'solo' }),
        },
      ],
      [subject, { change: 'answered', callId: chat.seen.callId }],
    ]);
  });
});
