import { setTimeout as delay } from 'node:timers/promises';
import { MeshError, type OperationUpdateInput } from '@agentmesh/protocol';
import { intercept, until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { says } from '../harness.fixture.ts';
import { cancelInvocation } from '../runs/cancel-invocation.ts';
import { ticketed } from './ticketed.fixture.ts';

const approved = { final: true, response: { status: 'approved' } };
const rejected = { final: true, response: { status: 'rejected' } };

/** Makes a ticket whose outcome is told while an update of it is being taken. */
async function overtaken(late: OperationUpdateInput) {
  const chat = await ticketed(says('approved!'));
  await chat.say('buy it');
  const { pending } = chat.world.sessions;
  // The late update has read the call, and the other outcome closes the call.
  let isFirst = true;
  intercept(pending, 'isReservedBy', (isReservedBy) => async (...args) => {
    if (isFirst) {
      isFirst = false;
      await chat.update(approved);
      await until(async () => (await chat.briefs()).at(-1) === 'solo: approved!');
    }
    return await isReservedBy(...args);
  });
  await chat.update(late);
  await chat.drained();
  return chat;
}

describe('an outcome that another outcome overtakes', () => {
  it('is acknowledged when it is the same', async () => {
    const chat = await overtaken(approved);
    expect(chat.deadLetters()).toBe(0);
    expect((await chat.briefs()).filter((line) => line.startsWith('user: gets'))).toHaveLength(1);
  });

  it('is acknowledged when it is the end of a job', async () => {
    const chat = await overtaken({ ...rejected, seq: 1, by: 'work' });
    expect(chat.deadLetters()).toBe(0);
    expect((await chat.briefs()).at(-1)).toBe('solo: approved!');
  });

  it('is a dead letter when it is another outcome of another program', async () => {
    const chat = await overtaken(rejected);
    expect(await chat.deadLetter()).toMatchObject({
      error: { code: 'failed_precondition', message: expect.stringContaining('answered before') },
    });
  });
});

it('progress comes before the outcome that was published behind it', async () => {
  const chat = await ticketed(says('approved!'));
  await chat.say('buy it');
  let isFirst = true;
  intercept(chat.world.sessions.pending, 'get', (get) => async (...args) => {
    const isSlow = isFirst;
    isFirst = false;
    if (isSlow) await delay(100);
    return await get(...args);
  });
  await chat.update({ final: false, response: { n: 1 } });
  await chat.update(approved);
  await until(async () => (await chat.briefs()).at(-1) === 'solo: approved!');
  const briefs = (await chat.briefs()).join('; ');
  expect(briefs).toMatch(/n.*1.*approved/);
});

describe('an update after the end of its call', () => {
  it.each([
    ['the end of a job', { ...rejected, seq: 1 }, 0],
    ['progress of a job', { final: false, response: { n: 1 }, seq: 1 }, 0],
    ['progress of another program', { final: false, response: { n: 1 } }, 0],
    ['progress that wakes the agent', { final: false, response: { n: 1 }, wake: true }, 0],
    ['the same outcome', approved, 0],
    ['another outcome of another program', rejected, 1],
  ])('changes nothing: %s', async (_what, update, deadLetters) => {
    const chat = await ticketed(says('approved!'));
    await chat.say('buy it');
    await chat.update(approved);
    await until(async () => (await chat.briefs()).at(-1) === 'solo: approved!');
    const before = await chat.briefs();
    await chat.update(update);
    await chat.drained();
    expect(chat.deadLetters()).toBe(deadLetters);
    expect(await chat.briefs()).toEqual(before);
  });

  it.each([
    ['the end of a job', { ...approved, wake: false, seq: 1 }],
    ['progress', { final: false, response: { n: 1 } }],
  ])('is acknowledged when the call ends just before its commit: %s', async (_what, update) => {
    const chat = await ticketed(says('approved!'));
    await chat.say('buy it');
    intercept(chat.world.sessions, 'appendEvent', (appendEvent) => async (request) => {
      if (request.whileOpen !== undefined)
        throw new MeshError('failed_precondition', 'the call was answered before');
      return await appendEvent(request);
    });
    await chat.update(update);
    await chat.drained();
    expect(chat.deadLetters()).toBe(0);
  });
});

describe('a ticket that its worker publishes twice', () => {
  it('wakes the agent once, also when the queue does not know it any more', async () => {
    const chat = await ticketed(says('ticket 8'), says('approved!'));
    await chat.say('buy it');
    for (const id of ['job:1', 'the same, after the time for which the queue knows ids']) {
      await chat.update({ final: false, wake: true, response: { ticket: 8 }, seq: 1 }, undefined, id);
      await chat.drained();
    }
    await until(async () => (await chat.briefs()).at(-1) === 'solo: ticket 8');
    await chat.update(approved);
    await until(async () => (await chat.briefs()).at(-1) === 'solo: approved!');
    expect((await chat.briefs()).filter((line) => line === 'solo: ticket 8')).toHaveLength(1);
    expect(chat.model.requests).toHaveLength(4);
  });
});

describe('an update of a deleted session', () => {
  it.each([
    ['the end of a job', { ...approved, seq: 1 }, 0],
    ['an outcome of another program', approved, 1],
  ])('is no news: %s', async (_what, update, deadLetters) => {
    const chat = await ticketed();
    await chat.say('buy it');
    const { appName: app, userId: user, sessionId: session } = chat.ref;
    await chat.world.sessions.deleteSession(chat.ref);
    await chat.update({ ...update, app, user, session });
    await chat.drained();
    expect(chat.deadLetters()).toBe(deadLetters);
  });
});

describe('an outcome while the run of its call is cancelled', () => {
  it('is taken when the run has ended: the call still waits', async () => {
    const gate = Promise.withResolvers<void>();
    const chat = await ticketed(says('approved!'));
    const generate = chat.model.generateContentAsync.bind(chat.model);
    let requests = 0;
    chat.model.generateContentAsync = async function* (request) {
      requests += 1;
      if (requests === 2) await gate.promise;
      yield* generate(request);
    };
    const run = chat.say('buy it');
    await until(() => requests === 2);
    const [call] = await chat.world.sessions.pending.list(chat.ref);
    const cancelling = { ...chat.ref, invocationId: call?.invocationId ?? '' };
    await chat.update(approved);
    await cancelInvocation(chat.client, cancelling, 'enough');
    gate.resolve();
    await run;
    await chat.drained();
    // The outcome is told, or the cancellation has closed the call: in no case is it a doubled one.
    const outcomes = (await chat.briefs()).filter((line) => line.includes('"status":"approved"'));
    expect(outcomes.length + chat.deadLetters()).toBe(1);
    expect(await chat.world.sessions.pending.list(chat.ref)).toEqual([]);
  });
});
