import { FunctionTool, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { maxPayloadBytes } from '@agentmesh/protocol';
import { intercept, until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { cancelInvocation } from '../runs/cancel-invocation.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';
import { workshop } from './jobs.fixture.ts';

/** Makes a promise that the test resolves. */
function gate() {
  return Promise.withResolvers<void>();
}

async function* inSteps(opened: Promise<void>) {
  yield { percent: 10 };
  yield { percent: 20 };
  await opened;
  yield { percent: 90 };
  return { status: 'completed' };
}

/** Waits until no job, no update and no run is in a queue: each publishes the next before it is acknowledged. */
async function settled({ world: { hub }, client: { subjects } }: Awaited<ReturnType<typeof workshop>>) {
  for (const queue of [
    subjects.toolJob('work'),
    subjects.workSubject('operation', 'solo'),
    subjects.workSubject('run', 'solo'),
  ])
    await until(() => hub.queued(queue) === 0);
}

describe('a long-running tool in a process of its own', () => {
  it('answers within the calling run when it is done soon', async () => {
    const chat = await workshop(() => inSteps(Promise.resolve()), 5_000, says('done'));
    const run = await chat.say('go');
    expect(run.events.map(brief)).toEqual([
      'solo: calls work',
      'solo: gets {"percent":10}',
      'solo: gets {"percent":20}',
      'solo: gets {"percent":90}',
      'solo: gets {"status":"completed"}',
      'solo: done',
    ]);
    expect(await chat.world.sessions.pending.list(chat.ref)).toEqual([]);
    // The job also publishes its end as a message, which has no effect.
    await until(() => chat.world.hub.queued(chat.client.subjects.workSubject('operation', 'solo')) === 0);
    expect(await chat.briefs()).toHaveLength(7);
    expect(chat.world.hub.queued(chat.client.subjects.dead('agent', 'solo'))).toBe(0);
  });

  it('reports progress only to a caller that follows it, so that it stays in order', async () => {
    const chat = await workshop(() => inSteps(Promise.resolve()), 5_000, says('done'));
    const { bus } = chat.first.mesh;
    const told: unknown[] = [];
    const enqueue = bus.enqueue.bind(bus);
    bus.enqueue = async (subject, payload, options) => {
      if (subject.includes('.operation.')) told.push(payload);
      return await enqueue(subject, payload, options);
    };
    await chat.say('go');
    await expect.poll(() => told).toMatchObject([{ final: true, seq: 4 }]);
  });

  it('ends with an error for the model when its result is too large, and works once', async () => {
    let done = 0;
    const work = () => {
      done += 1;
      return { text: 'x'.repeat(maxPayloadBytes), status: 'completed' };
    };
    const chat = await workshop(work, 5_000, says('then in parts'));
    const run = await chat.say('go');
    expect(run.events.map(brief)[1]).toMatch(/over the limit of \d+; save what is large as an artifact/);
    expect(run.events.map(brief).at(-1)).toBe('solo: then in parts');
    expect(done).toBe(1);
  });

  it('lets the run continue without it, and reports progress and its end later', async () => {
    const { promise, resolve } = gate();
    const chat = await workshop(() => inSteps(promise), 0, says('I will tell you'), says('all done'));
    const run = await chat.say('go');
    expect(run.events.map(brief).at(-1)).toBe('solo: I will tell you');
    expect(await chat.world.sessions.pending.list(chat.ref)).toHaveLength(1);
    resolve();
    await chat.ends('solo: all done');
    const log = await chat.briefs();
    expect(log.slice(-3)).toEqual([
      'solo: gets {"percent":90}',
      'user: gets {"status":"completed"}',
      'solo: all done',
    ]);
    for (const percent of [10, 20, 90]) {
      const heard = log.filter((line) => line === `solo: gets {"percent":${percent}}`);
      // The progress comes once as progress, and at most once as the first response when the run continued.
      expect(heard.length).toBeLessThanOrEqual(2);
      expect(heard.length).toBeGreaterThanOrEqual(1);
    }
  });

  it('returns its ticket to the calling run; any publisher may send the outcome', async () => {
    let subject = '';
    const chat = await workshop(
      (_args, context) => {
        subject = context?.operationSubject ?? '';
        return { ticket: 7 };
      },
      5_000,
      says('ticket 7'),
      says('approved'),
    );
    const run = await chat.say('go');
    expect(run.events.map(brief)).toEqual(['solo: calls work', 'solo: gets {"ticket":7}', 'solo: ticket 7']);
    await chat.client.bus.enqueue(subject, { final: true, response: { ok: true } }, { messageId: 'x' });
    await chat.ends('solo: approved');
    expect(chat.model.requests).toHaveLength(3);
  });

  it('does not wake its agent with a late ticket that says what the agent knows', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const work = () => promise.then(() => ({ status: 'pending' }));
    const chat = await workshop(work, 0, says('wait'), says('again'));
    await chat.say('go');
    resolve();
    await settled(chat);
    expect((await chat.briefs()).at(-1)).toBe('solo: wait');
    expect(chat.model.requests).toHaveLength(2);
  });

  it('does not wake its agent again when the record of its ticket is lost', async () => {
    const chat = await workshop(() => ({ ticket: 7 }), 5_000, says('ticket 7'), says('again'));
    let order = '';
    intercept(chat.world.jobs, 'take', (take) => async (tool, job, ...rest) => {
      order = job;
      return await take(tool, job, ...rest);
    });
    const { subjects, bus } = chat.client;
    const jobs: unknown[] = [];
    intercept(chat.first.mesh.bus, 'enqueue', (enqueue) => async (subject, payload, options) => {
      if (subject === subjects.toolJob('work')) jobs.push(payload);
      return await enqueue(subject, payload, options);
    });
    await chat.say('go');
    await settled(chat);
    // A failover of Redis takes the record back, and NATS has forgotten that the job is done.
    await chat.world.jobs.forget('work', order);
    await bus.enqueue(subjects.toolJob('work'), jobs[0], { messageId: 'again' });
    await settled(chat);
    expect((await chat.briefs()).slice(2)).toEqual(['solo: gets {"ticket":7}', 'solo: ticket 7']);
    expect(chat.model.requests).toHaveLength(2);
  });

  it('publishes a late ticket as an update', async () => {
    const { promise, resolve } = gate();
    const chat = await workshop(() => promise.then(() => ({ ticket: 7 })), 0, says('wait'), says('ticket 7'));
    await chat.say('go');
    resolve();
    await chat.ends('solo: ticket 7');
    expect(await chat.world.sessions.pending.list(chat.ref)).toHaveLength(1);
  });

  it('is handed to another worker when its process stops', async () => {
    const { promise, resolve } = gate();
    const chat = await workshop(
      async function* (_args, context) {
        yield { percent: 10 };
        resolve();
        await new Promise((_, reject) =>
          context?.abortSignal?.addEventListener('abort', () => reject(new Error('stopped'))),
        );
      },
      0,
      says('I will tell you'),
      says('all done'),
    );
    await chat.say('go');
    await promise;
    const heir = chat.serveWork(() => ({ status: 'unused' }));
    await heir.then(({ stop }) => stop({ graceMs: 0 }));
    const stopped = chat.first.stop({ graceMs: 0 });
    await chat.serveWork(async function* (_args, context) {
      yield { attempt: context?.attempt ?? 0 };
      return { status: 'completed' };
    });
    await stopped;
    await chat.ends('solo: all done');
    expect(await chat.briefs()).toContain('solo: gets {"attempt":2}');
  }, 20_000);

  it('stops when its call has another answer', async () => {
    const stopped = gate();
    let subject = '';
    const chat = await workshop(
      async function* (_args, context) {
        subject = context?.operationSubject ?? '';
        context?.abortSignal?.addEventListener('abort', () => stopped.resolve());
        yield { percent: 10 };
        await new Promise(() => {});
      },
      0,
      says('I will tell you'),
      says('cancelled then'),
    );
    await chat.say('go');
    await until(() => subject !== '');
    await chat.client.bus.enqueue(subject, { final: true, error: 'cancelled by eve' }, { messageId: 'x' });
    await chat.ends('solo: cancelled then');
    await stopped.promise;
    await until(() => chat.world.hub.queued(chat.client.subjects.toolJob('work')) === 0);
    expect(chat.world.hub.queued(chat.client.subjects.dead('agent', 'solo'))).toBe(0);
  });

  it('stops when its invocation is cancelled, and logs it', async () => {
    const started = gate();
    const chat = await workshop(async function* () {
      started.resolve();
      yield { percent: 10 };
      await new Promise(() => {});
    }, 60_000);
    const said = chat.say('go');
    await started.promise;
    const [pending] = await chat.world.sessions.pending.list(chat.ref);
    await cancelInvocation(chat.client, { ...chat.ref, invocationId: pending?.invocationId ?? '' }, 'enough');
    expect((await said).end.status).toBe('failed');
    expect(await chat.world.sessions.pending.list(chat.ref)).toEqual([]);
    await until(() => chat.world.hub.queued(chat.client.subjects.toolJob('work')) === 0);
    expect((await chat.briefs()).at(-1)).toBe('solo: fails cancelled');
    expect(chat.world.lines).toEqual([]);
    expect(chat.model.requests).toHaveLength(1);
  });

  it('fails like any other tool', async () => {
    const chat = await workshop(
      () => {
        throw new Error('no disk');
      },
      5_000,
      says('sorry'),
    );
    const run = await chat.say('go');
    expect(run.events.map(brief)).toEqual([
      'solo: calls work',
      'solo: gets {"error":"tool work failed: no disk"}',
      'solo: sorry',
    ]);
  });

  it('asks for confirmation before it becomes a job', async () => {
    const world = memoryMesh();
    const toolMesh = await world.connect('tool_work');
    let made = 0;
    const tool = new LongRunningFunctionTool({
      name: 'work',
      description: 'works',
      requireConfirmation: true,
      execute: () => {
        made += 1;
        return inSteps(Promise.resolve());
      },
    });
    await serveTool(toolMesh, tool);
    const mesh = await world.connect('agent_solo');
    const model = new ScriptedLlm(calls('work'), says('done'));
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [remoteTool('work')] }), {
      app: 'app',
    });
    const { say, client, ref } = await world.chat('app');
    await say('go');
    expect(made).toBe(0);
    const question = (await world.sessions.pending.list(ref)).find(({ kind }) => kind === 'confirmation');
    const subject = client.subjects.operation('solo', question?.id ?? '', 'client');
    await client.bus.enqueue(subject, { final: true, response: { confirmed: true } }, { messageId: 'x' });
    const log = async () => ((await world.sessions.getSession(ref))?.events ?? []).map(brief);
    await until(async () => (await log()).at(-1) === 'solo: done');
    expect(made).toBe(1);
    expect((await log()).at(-2)).toBe('solo: gets {"status":"completed"}');
  });

  it('answers a program that is no agent when it is done', async () => {
    const world = memoryMesh();
    const tool = new LongRunningFunctionTool({
      name: 'work',
      description: 'works',
      execute: () => inSteps(Promise.resolve()),
    });
    await serveTool(await world.connect('tool_work'), tool, { patienceMs: 0 });
    const client = await world.connect('client');
    const frames = await Array.fromAsync(
      client.bus.request(client.subjects.toolCall('work'), { callId: 'c' }),
    );
    expect(frames.at(-1)).toMatchObject({ data: { response: { status: 'completed' }, isLastWord: true } });
  });

  it('does not begin when its call was answered while it lay in the queue', async () => {
    const begun: unknown[] = [];
    const chat = await workshop(() => begun.push('work'), 0, says('I will tell you'), says('no then'));
    await chat.first.stop({ graceMs: 0 });
    const calling = await chat.world.connect('tool_work');
    // A replica takes the call and has no slot for its job, because an earlier job never ends.
    const tool = new LongRunningFunctionTool({
      name: 'work',
      description: 'works',
      execute: (_args, context) => {
        if (context?.functionCallId === 'first') return new Promise(() => {});
        begun.push('work');
        return {};
      },
    });
    const busy = await serveTool(calling, tool, { patienceMs: 0, jobSlots: 1 });
    const first = { job: 'first', call: { callId: 'first', args: {} } };
    await chat.client.bus.enqueue(chat.client.subjects.toolJob('work'), first, { messageId: 'first' });
    await chat.say('go');
    const [pending] = await chat.world.sessions.pending.list(chat.ref);
    const subject = chat.client.subjects.operation('solo', pending?.id ?? '', 'client');
    await chat.client.bus.enqueue(subject, { final: true, error: 'do not' }, { messageId: 'x' });
    await chat.ends('solo: no then');
    const heir = await chat.serveWork((_args, context) => {
      begun.push(context?.functionCallId === 'first' ? 'first' : 'work');
      return {};
    });
    await busy.stop({ graceMs: 0 });
    await until(() => chat.world.hub.queued(chat.client.subjects.toolJob('work')) === 0);
    await heir.stop({ graceMs: 0 });
    expect(begun).toEqual(['first']);
  }, 20_000);

  it('ends its call with a result that is too large for a message', async () => {
    const text = 'x'.repeat(1_100_000);
    const chat = await workshop(
      async function* () {
        yield { percent: 50 };
        return { text };
      },
      0,
      says('I will tell you'),
      says('thanks'),
    );
    await chat.say('go');
    await chat.ends('solo: thanks');
    expect((await chat.briefs()).at(-2)).toBe(`user: gets ${JSON.stringify({ text })}`);
    await until(() => chat.world.hub.queued(chat.client.subjects.toolJob('work')) === 0);
    const bucket = chat.client.bus.objects(chat.client.subjects.claimBucket('work'));
    await until(async () => (await bucket.ids()).length === 0);
  });

  it('moves an unreadable job to the dead letters', async () => {
    const chat = await workshop(() => ({}), 0);
    await chat.client.bus.enqueue(chat.client.subjects.toolJob('work'), { nonsense: 1 }, { messageId: 'x' });
    await until(() => chat.world.hub.queued(chat.client.subjects.dead('tool', 'work')) === 1);
  });
});

describe('a plain tool', () => {
  it('has no queue', async () => {
    const world = memoryMesh();
    const tool = new FunctionTool({ name: 'plain', description: 'works', execute: () => ({ ok: true }) });
    await serveTool(await world.connect('tool_plain'), tool);
    const client = await world.connect('client');
    const frames = await Array.fromAsync(
      client.bus.request(client.subjects.toolCall('plain'), { callId: 'c' }),
    );
    expect(frames.at(-1)).toMatchObject({ data: { response: { ok: true } } });
  });
});
