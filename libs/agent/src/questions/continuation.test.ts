import type { Event } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { AgentTool } from '../agent-tool/agent-tool.ts';
import type { Context } from '../base/context.ts';
import { getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, crashingChat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { ParallelAgent } from '../workflow/parallel-agent.ts';
import { SequentialAgent } from '../workflow/sequential-agent.ts';

const resumable = { resumabilityConfig: { isResumable: true } };
const calls = (...names: string[]) => ({ calls: names.map((name) => ({ name, args: {} })) });

/** Makes a tool that asks first, and records this in `temp:` state. */
function cashier() {
  const paid: unknown[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: 'pays',
    execute: (_args, context?: Context) => {
      if (context?.toolConfirmation) {
        paid.push(context.state.get('temp:asked'));
        return { paid: paid.length };
      }
      context?.state.set('temp:asked', true);
      return context?.requestConfirmation({ hint: 'pay?' });
    },
  });
  return { pay, paid };
}

const questionsIn = (events: readonly Event[]) =>
  events.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds);

async function open(config: object = resumable) {
  const { llm } = await scriptedModel(calls('pay'), { text: 'paid' }, { text: 'hello' });
  const { pay, paid } = cashier();
  const root = new LlmAgent({ name: 'root', model: llm, tools: [pay] });
  const { say, runner, stored } = await chat(root, undefined, config);
  const events = await say('pay');
  const { invocationId = '' } = events[0] ?? {};
  const [id = ''] = questionsIn(events);
  const send = async (part: object, continued?: string) =>
    await Array.fromAsync(
      runner.runAsync({
        userId: 'u',
        sessionId: (await stored()).id,
        ...(continued !== undefined && { invocationId: continued }),
        newMessage: { role: 'user', parts: [part] },
      }),
    );
  const answer = (continued?: string) =>
    send(
      { functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed: true } } },
      continued,
    );
  const record = async () => {
    const sessionId = (await stored()).id;
    return await runner.sessionService.invocations.get({
      appName: 'app',
      userId: 'u',
      sessionId,
      invocationId,
    });
  };
  return { say, send, answer, stored, record, paid, invocationId };
}

describe('an answer with the id of the invocation that asked', () => {
  it('continues it, with its temp: state and its counters', async () => {
    const { answer, stored, record, paid, invocationId } = await open();
    expect((await record()).llmCalls).toBe(1);
    const after = await answer(invocationId);
    expect(after.map(brief)).toEqual(['root: gets {"paid":1}', 'root: paid']);
    const { events } = await stored();
    expect(new Set(events.map((event) => event.invocationId))).toEqual(new Set([invocationId]));
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    expect(paid).toEqual([true]);
    expect(await record()).toMatchObject({ llmCalls: 2, temp: { 'temp:asked': true } });
  });

  it('starts a new invocation without the id, with neither of them', async () => {
    const { answer, stored, paid, invocationId } = await open();
    const [first] = await answer();
    expect(first?.invocationId).not.toBe(invocationId);
    expect(paid).toEqual([undefined]);
    expect((await stored()).events.at(-1)?.invocationId).toBe(first?.invocationId);
  });

  it.each<[string, object, (world: Awaited<ReturnType<typeof open>>) => Promise<unknown>, string]>([
    [
      'of an app that is not resumable',
      {},
      ({ answer, invocationId }) => answer(invocationId),
      'isResumable',
    ],
    ['that is not the one that asked', resumable, ({ answer }) => answer('e-other'), 'was not made by'],
    [
      'and a message that answers nothing',
      resumable,
      ({ send, invocationId }) => send({ text: 'hi' }, invocationId),
      'function response',
    ],
  ])('%s is refused and keeps the question open', async (_what, config, attempt, words) => {
    const world = await open(config);
    const before = await world.stored();
    await expect(attempt(world)).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining(words),
    });
    expect(await world.stored()).toEqual(before);
    await world.answer();
    expect(world.paid).toHaveLength(1);
  });

  it('may come once more, when the invocation asked twice', async () => {
    const { llm } = await scriptedModel(calls('pay', 'pay'), { text: 'both' });
    const { pay, paid } = cashier();
    const { say, answer } = await crashingChat(new LlmAgent({ name: 'root', model: llm, tools: [pay] }));
    const [one, two] = questionsIn(await say('pay twice'));
    const first = await answer(two, { confirmed: true }, 'e-1');
    const second = await answer(one, { confirmed: true }, 'e-1');
    expect([...first, ...second].map(brief)).toEqual([
      'root: gets {"paid":1}',
      'root: gets {"paid":2}',
      'root: both',
    ]);
    expect(paid).toEqual([true, true]);
  });

  it('continues at the paused child of a workflow, whenever the process dies', async () => {
    const one = await scriptedModel({ text: 'planned' });
    const two = await scriptedModel(calls('pay'), { text: 'paid' });
    const three = await scriptedModel({ text: 'booked' });
    const { pay, paid } = cashier();
    const agent = new SequentialAgent({
      name: 'pipeline',
      subAgents: [
        new LlmAgent({ name: 'planner', model: one.llm }),
        new LlmAgent({ name: 'payer', model: two.llm, tools: [pay] }),
        new LlmAgent({ name: 'booker', model: three.llm }),
      ],
    });
    const { say, answer, sessionService, ref } = await crashingChat(agent);
    const [id] = questionsIn(await say('go'));
    const after = await answer(id, { confirmed: true }, 'e-1');
    expect(after.map(brief)).toEqual(['payer: gets {"paid":1}', 'payer: paid', 'booker: booked']);
    expect(paid).toEqual([true]);
    const events = (await sessionService.getSession(ref))?.events ?? [];
    expect(new Set(events.map(({ invocationId }) => invocationId))).toEqual(new Set(['e-1']));
    expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
  });

  it('does not repeat finished branches', async () => {
    const one = await scriptedModel(calls('pay'), { text: 'paid' });
    const two = await scriptedModel({ text: 'sung' });
    const { pay } = cashier();
    let began = 0;
    const singer = new LlmAgent({
      name: 'singer',
      model: two.llm,
      beforeAgentCallback: () => {
        began += 1;
        return undefined;
      },
    });
    const payer = new LlmAgent({ name: 'payer', model: one.llm, tools: [pay] });
    const agent = new ParallelAgent({ name: 'both', subAgents: [payer, singer] });
    const { runner, say, stored } = await chat(agent, undefined, resumable);
    const events = await say('go');
    const [id = ''] = questionsIn(events);
    const functionResponse = { id, response: { confirmed: true } };
    const after = await Array.fromAsync(
      runner.runAsync({
        userId: 'u',
        sessionId: (await stored()).id,
        invocationId: events[0]?.invocationId ?? '',
        newMessage: { parts: [{ functionResponse }] },
      }),
    );
    expect(after.map(brief)).toEqual(['payer: gets {"paid":1}', 'payer: paid']);
    expect(began).toBe(1);
  });

  it('reaches the asking tool within nested agents, one question after the other', async () => {
    const inner = await scriptedModel(calls('pay', 'pay'), { text: 'both' }, { text: 'again' });
    const outer = await scriptedModel(
      { calls: [{ name: 'inner', args: { request: 'pay' } }] },
      { text: 'all paid' },
    );
    const { pay, paid } = cashier();
    const child = new LlmAgent({ name: 'inner', model: inner.llm, tools: [pay] });
    const agent = new LlmAgent({ name: 'outer', model: outer.llm, tools: [new AgentTool({ agent: child })] });
    const { say, answer, sessionService, ref } = await crashingChat(agent);
    const asked = await say('go');
    const second = await answer(questionsIn(asked)[0], { confirmed: true }, 'e-1');
    expect(second.map(brief)).toEqual(['outer: calls adk_request_confirmation']);
    const third = await answer(questionsIn(second)[0], { confirmed: true }, 'e-1');
    expect(third.map(brief)).toEqual(['outer: gets {"result":"both"}', 'outer: all paid']);
    expect(paid).toEqual([true, true]);
    const [call] = asked.flatMap(getFunctionCalls);
    const hidden = await sessionService.getSession({ ...ref, sessionId: call?.id ?? '' });
    const said = hidden?.events.filter(({ author }) => author === 'user') ?? [];
    expect(said.flatMap(getFunctionResponses)).toHaveLength(2);
    expect(said).toHaveLength(3);
  });
});
