import { type Context, FunctionTool, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { type DeadLetter, deadLetterSchema, type OperationUpdateInput } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { brief, calls, memoryMesh, ScriptedLlm, says } from './harness.fixture.ts';
import { startRun } from './run-client.ts';
import { startNext } from './run-queue.ts';
import { serveAgent } from './serve-agent.ts';

/** An agent whose tool opens a ticket, and what others can say to its call. */
async function ticketed(...answers: ConstructorParameters<typeof ScriptedLlm>) {
  const world = memoryMesh();
  const mesh = await world.connect('agent_solo');
  const seen: { subject?: string | undefined; callId?: string | undefined } = {};
  const tool = new LongRunningFunctionTool({
    name: 'approve',
    description: 'asks a manager',
    execute: (_args, context?: Context) => {
      seen.subject = context?.operationSubject;
      seen.callId = context?.functionCallId;
      return { status: 'pending', ticket: 7 };
    },
  });
  const model = new ScriptedLlm(calls('approve'), says('I asked'), ...answers);
  await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [tool] }), { app: 'app' });
  const chat = await world.chat('app');
  let sent = 0;
  const log = async () => (await world.sessions.getSession(chat.ref))?.events ?? [];
  return {
    ...chat,
    world,
    seen,
    model,
    log,
    briefs: async () => (await log()).map(brief),
    async update(update: OperationUpdateInput | unknown, subject = seen.subject ?? '', id?: string) {
      sent += 1;
      await chat.client.bus.enqueue(subject, update, { messageId: id ?? `update-${sent}` });
    },
    deadLetters: () => world.hub.queued(chat.client.subjects.dead('agent', 'solo')),
    async deadLetter(): Promise<DeadLetter> {
      const [letter = ''] = world.hub.queuedTexts(chat.client.subjects.dead('agent', 'solo')).slice(-1);
      return deadLetterSchema.parse(JSON.parse(letter));
    },
    drained: () => until(() => world.hub.queued(chat.client.subjects.workSubject('operation', 'solo')) === 0),
  };
}

describe('the outcome of a long-running call', () => {
  it('comes as a message, and the agent that called says something to it', async () => {
    const chat = await ticketed(says('approved!'));
    const run = await chat.say('buy it');
    expect(run.events.map(brief)).toEqual([
      'solo: calls approve',
      'solo: gets {"status":"pending","ticket":7}',
      'solo: I asked',
    ]);
    expect(chat.seen.subject).toBe(`mesh.v1.operation.solo.${chat.seen.callId}`);
    await chat.update({ final: true, response: { status: 'approved' } });
    await until(async () => (await chat.briefs()).at(-1) === 'solo: approved!');
    expect((await chat.briefs()).slice(-2)).toEqual(['user: gets {"status":"approved"}', 'solo: approved!']);
    expect(await chat.world.sessions.pending.list(chat.ref)).toEqual([]);
    expect(chat.model.requests).toHaveLength(3);
  });

  it('counts once, however often it comes, and another one is put away', async () => {
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

  it('waits for the end of the invocation that called', async () => {
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

  it('may be kept without a word of the agent, and bring state with it', async () => {
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
  it('is kept and shown, and no turn of the model', async () => {
    const chat = await ticketed(says('approved!'));
    const run = await chat.say('buy it');
    await chat.update({ final: false, response: { percent: 50 }, seq: 2 });
    await chat.update({ final: false, response: { percent: 50 }, seq: 2 });
    await chat.update({ final: false, response: { percent: 25 }, seq: 1 });
    await chat.update({ final: false, response: { word: 'soon' } });
    await chat.drained();
    const kept = (await chat.log()).slice(4);
    expect(kept.map(brief)).toEqual(['solo: gets {"percent":50}', 'solo: gets {"word":"soon"}']);
    expect(kept.map(({ invocationId }) => invocationId)).toEqual([run.invocationId, run.invocationId]);
    expect(chat.model.requests).toHaveLength(2);
    expect(
      await chat.world.sessions.getInvocation({ ...chat.ref, invocationId: run.invocationId }),
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
    expect(await chat.deadLetter()).toMatchObject({ error: { code: 'failed_precondition' } });
  });

  it('is a turn of the model when it is asked for', async () => {
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
  ])('is put away with the reason: %s', async (_what, update, code, message) => {
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

  it('is put away when nobody made such a call', async () => {
    const chat = await ticketed();
    await chat.say('buy it');
    await chat.update({ final: true, response: {} }, chat.client.subjects.operation('solo', 'adk-unknown'));
    await chat.drained();
    expect(await chat.deadLetter()).toMatchObject({ error: { code: 'not_found' } });
  });
});

describe('a resumable app', () => {
  it('goes on in the invocation that called', async () => {
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
    const subject = client.subjects.operation('solo', call?.id ?? '');
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

describe('an outcome by two doors', () => {
  it('counts once: what was rejected over NATS is not approved by a client later', async () => {
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
  it('leaves no credential in a dead letter', async () => {
    const chat = await ticketed(says('never'));
    await chat.say('buy it');
    const response = { exchangedAuthCredential: { authType: 'apiKey', apiKey: 'SECRET' } };
    await chat.update({ final: true, response }, chat.client.subjects.operation('solo', 'adk-unknown'));
    await chat.drained();
    const letter = await chat.deadLetter();
    expect(letter.payload).toEqual({ final: true, response: { exchangedAuthCredential: '[removed]' } });
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
    const subject = client.subjects.operation('solo', question?.id ?? '');
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

describe('a call with a deadline', () => {
  it('ends without an answer that did not come in time, and takes none that is late', async () => {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    const tool = new LongRunningFunctionTool({
      name: 'approve',
      description: 'asks a manager',
      answerWithinMs: 50,
      execute: () => ({ status: 'pending' }),
    });
    const model = new ScriptedLlm(calls('approve'), says('I asked'), says('nobody answered'));
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [tool] }), {
      app: 'app',
      sweepMs: 100,
    });
    const { say, client, ref } = await world.chat('app');
    await say('go');
    const [call] = await world.sessions.pending.list(ref);
    expect(call).toMatchObject({ deadline: (call?.created ?? 0) + 50, service: 'solo' });
    const log = async () => ((await world.sessions.getSession(ref))?.events ?? []).map(brief);
    await until(async () => (await log()).at(-1) === 'solo: nobody answered');
    expect((await log()).at(-2)).toMatch(/^user: gets {"expired":true,"error":"nobody answered before /);
    const subject = client.subjects.operation('solo', call?.id ?? '');
    await client.bus.enqueue(subject, { final: true, response: { ok: true } }, { messageId: 'late' });
    await until(() => world.hub.queued(client.subjects.dead('agent', 'solo')) === 1);
  });

  it('is not made when nobody confirmed it in time', async () => {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    let paid = 0;
    const pay = new FunctionTool({
      name: 'pay',
      description: 'pays',
      requireConfirmation: true,
      answerWithinMs: 50,
      execute: () => {
        paid += 1;
        return {};
      },
    });
    const model = new ScriptedLlm(calls('pay'), says('not paid'));
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [pay] }), {
      app: 'app',
      sweepMs: 100,
    });
    const { say, client, ref } = await world.chat('app');
    await say('go');
    const [question] = await world.sessions.pending.list(ref);
    await until(() => Date.now() > (question?.deadline ?? Number.POSITIVE_INFINITY));
    // Late by any door, also before the sweep that ends it.
    const functionResponse = {
      id: question?.id ?? '',
      name: question?.name ?? '',
      response: { confirmed: true },
    };
    const message = { role: 'user', parts: [{ functionResponse }] };
    await expect(
      startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message }),
    ).rejects.toMatchObject({ code: 'failed_precondition' });
    const log = async () => ((await world.sessions.getSession(ref))?.events ?? []).map(brief);
    await until(async () => (await log()).at(-1) === 'solo: not paid');
    expect((await log()).at(-2)).toMatch(/^solo: gets {"status":"expired","error":"nobody answered before /);
    expect(paid).toBe(0);
  });
});

describe('a notifier', () => {
  it('hears what begins to wait and what has its answer', async () => {
    const chat = await ticketed(says('approved!'));
    const news: unknown[] = [];
    await chat.client.bus.subscribe(chat.client.subjects.allSessionPending, (message) =>
      news.push([message.subject, message.json()]),
    );
    await chat.say('buy it');
    await chat.update({ final: true, response: {} });
    await until(() => news.length === 2);
    const subject = chat.client.subjects.sessionPending(chat.ref);
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

describe('what an attacker tries', () => {
  /** An agent whose payment waits for a person. */
  async function gated() {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    let paid = 0;
    const pay = new FunctionTool({
      name: 'pay',
      description: 'pays',
      requireConfirmation: true,
      execute: () => {
        paid += 1;
        return {};
      },
    });
    const model = new ScriptedLlm(calls('pay'), says('done'), says('more'));
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [pay] }), { app: 'app' });
    const chat = await world.chat('app');
    await chat.say('pay');
    const [question] = await world.sessions.pending.list(chat.ref);
    const id = question?.id ?? '';
    let sent = 0;
    const publish = async (update: unknown, subject = chat.client.subjects.operation('solo', id)) => {
      sent += 1;
      await chat.client.bus.enqueue(subject, update, { messageId: `${sent}` });
      const queue = chat.client.subjects.workSubject('operation', 'solo');
      await until(() => world.hub.queued(queue) === 0);
    };
    const letters = () => world.hub.queuedTexts(chat.client.subjects.dead('agent', 'solo'));
    return { ...chat, world, id, publish, letters, paid: () => paid };
  }

  it.each([
    ['kept without a word', { final: true, wake: false, response: { confirmed: false } }],
    ['as progress', { final: false, wake: true, response: { confirmed: true } }],
  ])('an answer to a question %s is none', async (_how, update) => {
    const { world, ref, publish, letters, paid } = await gated();
    await publish(update);
    expect(letters()).toHaveLength(1);
    expect(paid()).toBe(0);
    expect(await world.sessions.pending.list(ref)).toHaveLength(1);
  });

  it('a confirmation that goes on', async () => {
    const { client, ref, id, paid } = await gated();
    const functionResponse = {
      id,
      name: 'adk_request_confirmation',
      response: { confirmed: true },
      willContinue: true,
    };
    const message = { role: 'user', parts: [{ functionResponse }] };
    await expect(
      startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message }),
    ).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(paid()).toBe(0);
  });

  it('an answer on the subject of another agent', async () => {
    const { world, ref, client, id, paid } = await gated();
    const other = await world.connect('agent_other');
    await serveAgent(other, new LlmAgent({ name: 'other', model: new ScriptedLlm() }));
    const update = { final: true, response: { confirmed: true } };
    await client.bus.enqueue(client.subjects.operation('other', id), update, { messageId: 'x' });
    await until(() => world.hub.queued(client.subjects.dead('agent', 'other')) === 1);
    expect(paid()).toBe(0);
    expect(await world.sessions.pending.list(ref)).toHaveLength(1);
  });

  it('an outcome that no message can hold: another one is taken', async () => {
    const chat = await ticketed(says('approved'));
    await chat.say('buy it');
    await chat.update({ final: true, response: { text: 'x'.repeat(1_048_300) } });
    await chat.drained();
    expect((await chat.deadLetter()).payload).toMatchObject({
      cut: expect.any(String),
      bytes: expect.any(Number),
    });
    await chat.update({ final: true, response: { ok: true } });
    await until(async () => (await chat.briefs()).at(-1) === 'solo: approved');
  });

  it('to say that something has expired', async () => {
    const chat = await ticketed(says('heard'));
    await chat.say('buy it');
    await chat.update({ final: true, response: { expired: true, status: 'approved' } });
    await until(async () => (await chat.briefs()).at(-1) === 'solo: heard');
    expect((await chat.briefs()).at(-2)).toBe('user: gets {"expired":true,"status":"approved"}');
  });
});

describe('an answer that races its deadline', () => {
  it('counts when it was in time, though its run begins later', async () => {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    const tool = new LongRunningFunctionTool({
      name: 'approve',
      description: 'asks a manager',
      answerWithinMs: 400,
      execute: () => ({ status: 'pending' }),
    });
    const model = new ScriptedLlm(calls('approve'), says('I asked'), says('approved'));
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [tool] }), {
      app: 'app',
      sweepMs: 50,
    });
    const { say, client, ref } = await world.chat('app');
    await say('go');
    const [call] = await world.sessions.pending.list(ref);
    // Another run has the session over the deadline.
    const other = { ...ref, invocationId: 'e-other' };
    await world.sessions.takeSession(other, { run: '', whenBusy: 'reject' });
    const subject = client.subjects.operation('solo', call?.id ?? '');
    await client.bus.enqueue(subject, { final: true, response: { ok: true } }, { messageId: 'in time' });
    await until(() => Date.now() > (call?.deadline ?? Number.POSITIVE_INFINITY) + 200);
    await world.sessions.endInvocation(other, { status: 'completed' });
    await startNext(client, ref);
    const log = async () => ((await world.sessions.getSession(ref))?.events ?? []).map(brief);
    await until(async () => (await log()).at(-1) === 'solo: approved');
    expect((await log()).at(-2)).toBe('user: gets {"ok":true}');
  });
});
