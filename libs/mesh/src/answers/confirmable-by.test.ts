import { AgentTool, type ConfirmableBy, FunctionTool, LlmAgent } from '@agentmesh/agent';
import type { AnsweredBy } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';

const manager: AnsweredBy = { by: 'eve', via: 'rest', service: 'gateway', roles: ['manager'] };

/** Makes an agent whose tool in another process pays after a confirmation, and the ways to give it. */
async function till(confirmableBy: ConfirmableBy, place: 'tool' | 'agent' = 'tool', sender?: string) {
  const world = memoryMesh();
  let paid = 0;
  const pay = new FunctionTool({
    name: 'pay',
    description: 'pays',
    requireConfirmation: true,
    confirmableBy,
    execute: () => {
      paid += 1;
      return { paid };
    },
  });
  await serveTool(await world.connect('tool_pay'), pay);
  const cashier = { model: new ScriptedLlm(calls('pay'), says('paid')), tools: [remoteTool('pay')] };
  if (place === 'agent')
    await serveAgent(await world.connect('agent_cashier'), new LlmAgent({ name: 'cashier', ...cashier }));
  const asking = {
    model: new ScriptedLlm(calls('cashier', { request: 'pay' }), says('done')),
    tools: [new AgentTool({ agent: remoteAgent('cashier') })],
  };
  const root = new LlmAgent({ name: 'root', ...(place === 'agent' ? asking : cashier) });
  await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
  const chat = await world.chat('app');
  const caller = sender === undefined ? undefined : { via: 'oidc', user: sender, roles: ['operator'] };
  const asked = { app: 'app', user: 'u', session: chat.ref.sessionId, message: 'pay' };
  await Array.fromAsync((await startRun(chat.client, { ...asked, ...(caller && { caller }) })).events);
  const [question] = await world.sessions.pending.list(chat.ref);
  const id = question?.id ?? '';
  const { client, ref } = chat;
  const functionResponse = { id, name: 'adk_request_confirmation', response: { confirmed: true } };
  const message = { role: 'user', parts: [{ functionResponse }] };
  const command = { app: 'app', user: 'u', session: ref.sessionId };
  const queue = client.subjects.workSubject('operation', 'root');
  return {
    ...{ world, chat, question },
    paid: () => paid,
    isOpen: async () => (await world.sessions.pending.list(ref)).some((call) => call.id === id),
    /** Answers as the gateway does. */
    async answer(answeredBy?: AnsweredBy, answer: typeof message = message) {
      const run = await startRun(client, { ...command, message: answer, ...(answeredBy && { answeredBy }) });
      const events = await Array.fromAsync(run.events);
      return { events, end: await run.end };
    },
    /** Answers by an update. */
    async update(more: object, service = 'client') {
      const update = { final: true, response: { confirmed: true }, ...more };
      const subject = client.subjects.operation('root', id, service);
      await client.bus.enqueue(subject, update, { messageId: `update-${JSON.stringify([more, service])}` });
      await until(() => world.hub.queued(queue) === 0);
    },
    /** Answers by a run command of its own. */
    async command(more: object) {
      const subject = client.subjects.agentRun('root', ref.sessionId);
      const run = { ...command, invocationId: 'e-own', message, ...more };
      await client.bus.enqueue(subject, run, { messageId: 'own' });
      await until(() => world.hub.queued(client.subjects.workSubject('run', 'root')) === 0);
    },
    letters: () => world.hub.queuedTexts(client.subjects.dead('agent', 'root')),
    audits: () =>
      world.hub.queuedTexts(client.subjects.audit('agent_root')).map((text) => JSON.parse(text) as object),
    lines: () => world.lines.filter((line) => line.includes('"audit":true')),
  };
}

const denied = { code: 'permission_denied' };

describe('a confirmation that a manager must give', () => {
  const policy = { roles: ['manager', 'owner'], notByAsker: true };

  it('says so on its pending call', async () => {
    const { question } = await till(policy);
    expect(question?.args.toolConfirmation).toMatchObject({ confirmableBy: policy });
  });

  it.each<[string, AnsweredBy | undefined]>([
    ['nobody', undefined],
    ['a person without roles', { by: 'eve', via: 'rest' }],
    ['a person with another role', { by: 'eve', via: 'rest', roles: ['clerk'] }],
    ['the asking user, who is a manager', { by: 'u', via: 'rest', roles: ['manager'] }],
    ['a manager without a name', { by: 'unknown', via: 'rest', roles: ['manager'] }],
    ['a person who says that the answer came over the bus', { by: 'eve', via: 'nats' }],
  ])('is refused by a message of %s, and stays open', async (_who, answeredBy) => {
    const till1 = await till(policy);
    await expect(till1.answer(answeredBy)).rejects.toMatchObject({
      ...denied,
      message: expect.stringContaining('with one of the roles manager, owner who is not u'),
    });
    expect([till1.paid(), await till1.isOpen()]).toEqual([0, true]);
    const { events } = await till1.answer(manager);
    expect(events.map(brief)).toEqual(['root: gets {"paid":1}', 'root: paid']);
  });

  it.each([
    ['an update without a person', {}],
    ['an update of a clerk', { by: 'eve', roles: ['clerk'] }],
    ['an update of the asking user', { by: 'u', roles: ['manager'] }],
  ])('is refused by %s: dead letter, audit record, and the call stays open', async (_what, update) => {
    const { update: send, letters, lines, audits, paid, isOpen } = await till(policy);
    await send(update);
    expect(letters().map((text) => JSON.parse(text).error.code)).toEqual(['permission_denied']);
    expect([paid(), await isOpen()]).toEqual([0, true]);
    expect(lines()).toHaveLength(1);
    await until(() => audits().length === 1);
    expect(audits()[0]).toMatchObject({
      decision: 'refused',
      service: 'agent_root',
      answeredBy: { service: 'client', via: 'nats' },
      reason: expect.stringContaining('may be answered by a person'),
    });
    await send({ by: 'eve', roles: ['owner'] });
    await until(() => paid() === 1);
    await until(() => audits().length === 2);
    expect(audits()[1]).toMatchObject({
      decision: 'accepted',
      answeredBy: { by: 'eve', via: 'nats', service: 'client', roles: ['owner'] },
    });
  });

  it.each([
    ['without a source', {}],
    ['that claims a way which needs no check', { answeredBy: { by: 'x', via: 'job' } }],
    ['that claims a deadline', { answeredBy: { by: 'x', via: 'deadline' } }],
    [
      'that claims an update',
      { answeredBy: { by: 'eve', via: 'nats', service: 'client', roles: ['owner'] } },
    ],
    ['that claims a manager at the gateway', { answeredBy: manager }],
  ])('is not given by a run command %s', async (_how, more) => {
    const { command, paid, audits, isOpen } = await till(policy);
    await command(more);
    await until(() => audits().length === 1);
    expect(audits()[0]).toMatchObject({ decision: 'refused', answeredBy: { by: 'unknown', via: 'nats' } });
    expect([paid(), await isOpen()]).toEqual([0, true]);
  });

  it('is not given by a plain yes', async () => {
    const { chat, paid, isOpen } = await till(policy);
    const { end } = await chat.say('yes', { plainTextToolConfirmation: true });
    expect(end).toMatchObject({ status: 'failed', error: denied });
    expect([paid(), await isOpen()]).toEqual([0, true]);
  });

  it('binds the agent that is asked as a tool, and the agent that asks', async () => {
    const { question, answer, paid, isOpen } = await till(policy, 'agent');
    expect(question?.args.toolConfirmation).toMatchObject({ confirmableBy: policy });
    await expect(answer({ by: 'u', via: 'rest' })).rejects.toMatchObject(denied);
    expect([paid(), await isOpen()]).toEqual([0, true]);
    const { events } = await answer(manager);
    expect([paid(), events.map(brief).at(-1)]).toEqual([1, 'root: done']);
  });
});

it('records a confirmation that everybody may give, too', async () => {
  const { answer, audits } = await till({ notByAsker: true });
  await answer({ by: 'eve', via: 'rest', service: 'gateway' });
  await until(() => audits().length === 1);
  expect(audits()[0]).toMatchObject({ decision: 'accepted', answeredBy: { by: 'eve', service: 'gateway' } });
});

describe('a service that answers for a person', () => {
  it.each(['tool_pay', 'agent_root', 'agent_other'])('is refused: %s', async (service) => {
    const { update, paid, isOpen, letters, lines } = await till({ notByAsker: true });
    await update({ by: 'eve', roles: ['manager'] }, service);
    expect(letters().map((text) => JSON.parse(text).error.code)).toEqual(['permission_denied']);
    expect(lines().join()).toContain(service);
    expect([paid(), await isOpen()]).toEqual([0, true]);
    await update({ by: 'eve' });
    await until(() => paid() === 1);
  });
});

describe('a question that an operator has caused in the name of a user', () => {
  it.each(['tool', 'agent'] as const)(
    'is not answered by this operator, with notByAsker: %s',
    async (place) => {
      const { answer, paid, isOpen } = await till({ notByAsker: true }, place, 'eve');
      const by = (name: string): AnsweredBy => ({ by: name, via: 'rest', service: 'gateway' });
      for (const name of ['eve', 'u']) {
        const refused = await answer(by(name)).then(
          ({ end }) => end.error,
          (error: unknown) => error,
        );
        expect(refused).toMatchObject(denied);
        expect([paid(), await isOpen()]).toEqual([0, true]);
      }
      await answer(by('max'));
      expect(paid()).toBe(1);
    },
  );
});
