import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from '@agentmesh/agent';
import { MeshError } from '@agentmesh/protocol';
import { intercept, until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { says } from '../harness.fixture.ts';
import { cancelInvocation } from '../runs/cancel-invocation.ts';
import { workshop } from './jobs.fixture.ts';

const away = () => Promise.reject(new MeshError('unavailable', 'redis is away'));

describe('a job while the store is away', () => {
  it('is done once: its progress and its result are stored when the store is back', async () => {
    let begun = 0;
    const chat = await workshop(
      async function* () {
        begun += 1;
        yield { percent: 50 };
        return { status: 'completed' };
      },
      { patienceMs: 5_000 },
      says('done'),
    );
    const failed = { report: 0, finish: 0 };
    for (const method of ['report', 'finish'] as const)
      intercept(chat.world.jobs, method, (call) => async (...args: never[]) => {
        failed[method] += 1;
        // The write arrives and its reply is lost, then the store is away.
        if (failed[method] === 1) await (call as (...args: never[]) => Promise<unknown>)(...args);
        return failed[method] < 4 ? await away() : await (call as (...args: never[]) => never)(...args);
      });
    await chat.say('go');
    await expect.poll(() => failed).toEqual({ report: 4, finish: 4 });
    expect(begun).toBe(1);
    expect((await chat.briefs()).slice(2)).toEqual([
      'solo: gets {"percent":50}',
      'solo: gets {"status":"completed"}',
      'solo: done',
    ]);
  });
});

describe('a job that the store refuses', () => {
  const refused = () =>
    Promise.reject(new MeshError('permission_denied', "redis' access rules do not let this user do that"));

  it.each(['take', 'finish'] as const)('at %s becomes a dead letter, and its call ends', async (method) => {
    let begun = 0;
    const gate = Promise.withResolvers<void>();
    const work = async () => {
      begun += 1;
      await gate.promise;
      return { status: 'completed' };
    };
    const chat = await workshop(work, { patienceMs: 0, leaseMs: 60 }, says('I will tell you'), says('sorry'));
    let isRefused = method === 'take';
    intercept(chat.world.jobs, method, (call) => async (...args: never[]) => {
      if (isRefused) return await refused();
      return await (call as (...args: never[]) => never)(...args);
    });
    await chat.say('go');
    isRefused = true;
    gate.resolve();
    await chat.ends('solo: sorry');
    expect((await chat.briefs()).at(-2)).toMatch(/given up \(permission_denied\): redis' access rules/);
    const { hub } = chat.world;
    const { subjects } = chat.client;
    await until(() => hub.queued(subjects.toolJob('work')) === 0);
    const [letter = ''] = hub.queuedTexts(subjects.dead('tool', 'work'));
    expect(JSON.parse(letter)).toMatchObject({
      subject: subjects.toolJob('work'),
      error: { code: 'permission_denied' },
    });
    expect(begun).toBe(method === 'take' ? 0 : 1);
  });
});

describe('a job whose lease has lapsed', () => {
  it('stays with a worker that lives, and passes to another when the process of the worker is gone', async () => {
    const begun: (number | undefined)[] = [];
    const gate = Promise.withResolvers<void>();
    const work = async (_args: unknown, context?: Context) => {
      begun.push(context?.attempt);
      await gate.promise;
      return { status: 'completed' };
    };
    const chat = await workshop(work, { patienceMs: 0, leaseMs: 60 }, says('I will tell you'), says('done'));
    let isAway = false;
    const { replica } = chat.first.mesh.bus;
    intercept(chat.world.jobs, 'take', (take) => async (...args) => {
      if (isAway && args[2].startsWith(replica)) return await away();
      return await take(...args);
    });
    await chat.say('go');
    await until(() => begun.length === 1);
    isAway = true;
    const second = await chat.serveWork(work);
    let asked = 0;
    intercept(second.mesh.bus, 'isGone', (isGone) => async (...args) => {
      asked += 1;
      return await isGone(...args);
    });
    // The queue takes the worker for dead, as after an outage of NATS, and delivers the job again.
    const [job] = chat.world.hub.queuedTexts(chat.client.subjects.toolJob('work'));
    await chat.client.bus.enqueue(chat.client.subjects.toolJob('work'), JSON.parse(job ?? ''), {
      messageId: 'again',
    });
    await until(() => asked > 0);
    expect(begun).toEqual([1]);
    chat.world.hub.kill(chat.first.mesh.bus);
    await until(() => begun.length === 2);
    gate.resolve();
    await chat.ends('solo: done');
    expect(begun).toEqual([1, 2]);
  }, 20_000);
});

describe('a job that is handed back', () => {
  it('is not taken again by a renewal that was on its way', async () => {
    const started = Promise.withResolvers<void>();
    const work = (_args: unknown, context?: Context) =>
      new Promise((_, reject) => {
        context?.abortSignal?.addEventListener('abort', () => reject(new Error('stopped')));
        started.resolve();
      });
    const chat = await workshop(work, { patienceMs: 0, leaseMs: 60 }, says('I will tell you'));
    await chat.say('go');
    await started.promise;
    let onTheWay = 0;
    const restore = intercept(chat.world.jobs, 'take', (take) => async (...args) => {
      onTheWay += 1;
      await delay(150);
      return await take(...args).finally(() => {
        onTheWay -= 1;
      });
    });
    await until(() => onTheWay > 0);
    await chat.first.stop({ graceMs: 0 });
    await until(() => onTheWay === 0);
    restore();
    const [order = '{}'] = chat.world.hub.queuedTexts(chat.client.subjects.toolJob('work'));
    const { job } = JSON.parse(order);
    expect(await chat.world.jobs.take('work', job, 'other', 1)).toMatchObject({ state: 'taken' });
  });
});

describe('a ticket of a job', () => {
  it('that an update tells is not also the response of its call', async () => {
    const chat = await workshop(
      () => ({ status: 'pending', ticket: 7 }),
      { patienceMs: 5_000 },
      says('I wait'),
      says('ticket 7'),
    );
    // The follower is delayed for longer than a caller counts as following: the job ends before it looks.
    const ended = Promise.withResolvers<void>();
    let looks = 0;
    intercept(chat.world.jobs, 'follow', (follow) => async (...args) => {
      looks += 1;
      if (looks > 1) await ended.promise;
      return await follow(...args);
    });
    intercept(chat.world.jobs, 'finish', (finish) => async (tool, job, result) => {
      await chat.world.jobs.leave(tool, job, 0);
      const end = await finish(tool, job, result);
      ended.resolve();
      return end;
    });
    await chat.say('go');
    await chat.ends('solo: ticket 7');
    expect((await chat.briefs()).slice(2)).toEqual([
      'solo: gets {"status":"pending"}',
      'solo: I wait',
      'user: gets {"status":"pending","ticket":7}',
      'solo: ticket 7',
    ]);
    await until(() => chat.world.hub.queued(chat.client.subjects.workSubject('operation', 'solo')) === 0);
    expect(chat.model.requests).toHaveLength(3);
  });

  it('that a caller has received is no update', async () => {
    const chat = await workshop(() => ({ status: 'pending', ticket: 7 }), 5_000, says('ticket 7'));
    await chat.say('go');
    await until(() => chat.world.hub.queued(chat.client.subjects.toolJob('work')) === 0);
    expect((await chat.briefs()).slice(2)).toEqual([
      'solo: gets {"status":"pending","ticket":7}',
      'solo: ticket 7',
    ]);
    expect(chat.model.requests).toHaveLength(2);
  });
});

describe('the end of a cancelled job', () => {
  it('does not wake the agent, also when its worker dies before it tells the end', async () => {
    const chat = await workshop(async function* () {
      yield { percent: 10 };
      await new Promise(() => {});
    }, 60_000);
    // The store has the end; its worker dies before it publishes the end.
    intercept(chat.first.mesh.bus, 'enqueue', (enqueue) => async (...args) => {
      if (args[0].includes('.operation.')) chat.world.hub.kill(chat.first.mesh.bus);
      return await enqueue(...args);
    });
    const run = chat.say('go');
    await until(async () => (await chat.world.sessions.pending.list(chat.ref)).length === 1);
    await until(async () => (await chat.briefs()).includes('solo: gets {"percent":10}'));
    const [pending] = await chat.world.sessions.pending.list(chat.ref);
    await cancelInvocation(chat.client, { ...chat.ref, invocationId: pending?.invocationId ?? '' }, 'enough');
    await run;
    await chat.serveWork(() => ({}));
    await until(() => chat.world.hub.queued(chat.client.subjects.toolJob('work')) === 0);
    await until(() => chat.world.hub.queued(chat.client.subjects.workSubject('operation', 'solo')) === 0);
    // The step that cancels the run also closes its call: the end of the job comes too late.
    expect((await chat.briefs()).at(-1)).toBe('solo: fails cancelled');
    expect(chat.model.requests).toHaveLength(1);
  }, 20_000);
});
