import type { Event } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AgentTool } from '../agent-tool/agent-tool.ts';
import type { Context } from '../base/context.ts';
import { getFunctionCalls, getFunctionResponses, isFinalResponse } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, crashingChat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool, LongRunningFunctionTool } from '../tools/function-tool.ts';
import { SequentialAgent } from '../workflow/sequential-agent.ts';

const paying = (amount: number) => ({ calls: [{ name: 'pay', args: { amount } }] });

/** Makes a tool that pays, and the list of its payments. */
function cashier(requireConfirmation: boolean | ((args: { amount: number }) => boolean) = true) {
  const paid: number[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: 'pays',
    parameters: z.object({ amount: z.number() }),
    requireConfirmation,
    execute: ({ amount }) => {
      paid.push(amount);
      return { paid: amount };
    },
  });
  return { pay, paid };
}

const questionIn = (events: readonly Event[]) =>
  events
    .flatMap(getFunctionCalls)
    .filter(({ name = '' }) => name.startsWith('adk_request_'))
    .at(-1);

describe('a tool that needs confirmation', () => {
  it('is not run before a person says yes, and then with the arguments of the model', async () => {
    const { llm, requests } = await scriptedModel(paying(5), { text: 'paid' });
    const { pay, paid } = cashier();
    const { say, answer } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [pay] }));
    const events = await say('pay 5');
    expect(events.map(brief)).toEqual(['root: calls pay', 'root: calls adk_request_confirmation']);
    expect(paid).toEqual([]);
    const [call] = events.flatMap(getFunctionCalls);
    const question = questionIn(events);
    expect(question?.args).toEqual({
      originalFunctionCall: call,
      toolConfirmation: { hint: expect.stringContaining('pay'), confirmed: false },
    });
    const asked = events.at(-1);
    expect(asked?.longRunningToolIds).toEqual([question?.id]);
    expect(asked?.actions).toMatchObject({
      skipSummarization: true,
      requestedToolConfirmations: { [call?.id ?? '']: { confirmed: false } },
    });
    expect(asked && isFinalResponse(asked)).toBe(true);
    const after = await answer(question?.id, { confirmed: true, amount: 99 });
    expect(after.map(brief)).toEqual(['root: gets {"paid":5}', 'root: paid']);
    expect(getFunctionResponses(after[0] as Event)[0]?.id).toBe(call?.id);
    expect(paid).toEqual([5]);
    expect(requests[1]?.contents.map(({ parts }) => Object.keys(parts?.[0] ?? {})[0])).toEqual([
      'text',
      'functionCall',
      'functionResponse',
    ]);
  });

  it('is not run after a no; the model is told', async () => {
    const { llm } = await scriptedModel(paying(5), { text: 'as you like' });
    const { pay, paid } = cashier();
    const { say, answer } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [pay] }));
    const question = questionIn(await say('pay'));
    expect((await answer(question?.id, { confirmed: false })).map(brief)).toEqual([
      'root: gets {"error":"the call of pay was rejected"}',
      'root: as you like',
    ]);
    expect(paid).toEqual([]);
  });

  it('may require it for some arguments only', async () => {
    const { llm } = await scriptedModel(paying(50), { text: 'ok' }, paying(500));
    const { pay, paid } = cashier(({ amount }) => amount > 100);
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [pay] }));
    await say('pay 50');
    expect(paid).toEqual([50]);
    expect((await say('pay 500')).map(brief).at(-1)).toBe('root: calls adk_request_confirmation');
    expect(paid).toEqual([50]);
  });

  it('accepts the answer as JSON text, as some clients send it', async () => {
    const { llm } = await scriptedModel(paying(5), { text: 'paid' });
    const { pay, paid } = cashier();
    const { say, answer } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [pay] }));
    await answer(questionIn(await say('pay'))?.id, { response: '{"confirmed": true}' });
    expect(paid).toEqual([5]);
  });

  it('does not hide the results of its siblings from the model (ADK defect B2)', async () => {
    const { llm, requests } = await scriptedModel(
      {
        calls: [
          { name: 'pay', args: { amount: 5 } },
          { name: 'look', args: {} },
        ],
      },
      { text: 'both' },
    );
    const look = new FunctionTool({
      name: 'look',
      description: 'looks',
      execute: (_args, context) => {
        context?.state.set('looked', true);
        return { seen: 1 };
      },
    });
    const { say, answer, stored } = await chat(
      new LlmAgent({ name: 'root', model: llm, tools: [cashier().pay, look] }),
    );
    const events = await say('go');
    expect(events.map(brief)).toEqual([
      'root: calls pay',
      'root: calls adk_request_confirmation',
      'root: gets {"seen":1}',
    ]);
    expect((await stored()).state).toEqual({ looked: true });
    await answer(questionIn(events)?.id, { confirmed: true });
    expect(
      requests[1]?.contents.at(-1)?.parts?.map(({ functionResponse }) => functionResponse?.response),
    ).toEqual([{ paid: 5 }, { seen: 1 }]);
  });

  it('waits for all answers when two calls of one turn ask; each is answered by itself', async () => {
    const { llm } = await scriptedModel(
      {
        calls: [
          { name: 'pay', args: { amount: 1 } },
          { name: 'pay', args: { amount: 2 } },
        ],
      },
      { text: 'done' },
    );
    const { pay, paid } = cashier();
    const { say, answer } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [pay] }));
    const [one, two] = (await say('pay both')).flatMap(({ longRunningToolIds = [] }) => longRunningToolIds);
    expect((await answer(two, { confirmed: true })).map(brief)).toEqual(['root: gets {"paid":2}']);
    expect((await answer(one, { confirmed: false })).map(brief)).toEqual([
      'root: gets {"error":"the call of pay was rejected"}',
      'root: done',
    ]);
    expect(paid).toEqual([2]);
  });

  it('stays open over other turns, which do not see the call, and is answered later (ADK defect B21)', async () => {
    const { llm, requests } = await scriptedModel(
      paying(5),
      { text: 'it is noon' },
      { text: 'and still' },
      { text: 'paid' },
    );
    const { pay, paid } = cashier();
    const { say, answer } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [pay] }));
    const question = questionIn(await say('pay'));
    await say('what time is it?');
    await say('and now?');
    expect(JSON.stringify(requests.slice(1, 3).map(({ contents }) => contents))).not.toContain(
      'functionCall',
    );
    await answer(question?.id, { confirmed: true });
    expect(paid).toEqual([5]);
  });

  it('runs although the run of the approval died and another message came since (ADK defect B21)', async () => {
    const { llm, requests } = await scriptedModel(paying(5), { text: 'paid, and it is noon' });
    const { pay, paid } = cashier();
    const { say, stored, runner } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [pay] }));
    const question = questionIn(await say('pay'));
    const session = await stored();
    await runner.sessionService.appendEvent({
      session,
      event: {
        ...(session.events[0] as Event),
        id: 'died',
        invocationId: 'e-died',
        content: {
          role: 'user',
          parts: [
            {
              functionResponse: {
                id: question?.id ?? '',
                name: 'adk_request_confirmation',
                response: { confirmed: true },
              },
            },
          ],
        },
      },
    });
    expect((await say('what time is it?')).map(brief)).toEqual([
      'root: gets {"paid":5}',
      'root: paid, and it is noon',
    ]);
    expect(paid).toEqual([5]);
    expect(JSON.stringify(requests[1]?.contents)).toContain('what time is it?');
  });

  it.each([
    ['an answer to nothing', () => 'adk-nothing', { confirmed: true }, 'failed_precondition'],
    ['neither yes nor no', (id: string) => id, { ok: true }, 'invalid_argument'],
    ['a yes that is no boolean', (id: string) => id, { confirmed: 'yes' }, 'invalid_argument'],
  ])('refuses %s and stores nothing of it', async (_what, idOf, response, code) => {
    const { llm } = await scriptedModel(paying(5));
    const { pay, paid } = cashier();
    const { say, runner, stored } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [pay] }));
    const question = questionIn(await say('pay'));
    const before = (await stored()).events.length;
    const functionResponse = {
      id: idOf(question?.id ?? ''),
      name: 'adk_request_confirmation',
      response,
    };
    await expect(
      Array.fromAsync(
        runner.runAsync({
          userId: 'u',
          sessionId: (await stored()).id,
          newMessage: { role: 'user', parts: [{ functionResponse }] },
        }),
      ),
    ).rejects.toMatchObject({ code });
    expect(paid).toEqual([]);
    expect((await stored()).events).toHaveLength(before);
  });

  it('refuses a second answer: the call is made once', async () => {
    const { llm } = await scriptedModel(paying(5), { text: 'paid' });
    const { pay, paid } = cashier();
    const { say, answer } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [pay] }));
    const question = questionIn(await say('pay'));
    await answer(question?.id, { confirmed: true });
    await expect(answer(question?.id, { confirmed: true })).rejects.toMatchObject({
      code: 'failed_precondition',
    });
    expect(paid).toEqual([5]);
  });

  it('asks once and pays once when the process dies after every event', async () => {
    const { llm } = await scriptedModel(paying(5), { text: 'paid' });
    const { pay, paid } = cashier();
    const { say, answer } = await crashingChat(new LlmAgent({ name: 'root', model: llm, tools: [pay] }));
    const events = await say('pay');
    expect(events.map(brief)).toEqual(['root: calls pay', 'root: calls adk_request_confirmation']);
    const after = await answer(questionIn(events)?.id, { confirmed: true });
    expect(after.map(brief)).toEqual(['root: gets {"paid":5}', 'root: paid']);
    expect(paid).toEqual([5]);
  });

  it('that is long-running starts once, after the yes', async () => {
    const { llm } = await scriptedModel(
      { calls: [{ name: 'ship', args: {} }] },
      { text: 'on its way' },
      { text: 'hello' },
    );
    let shipped = 0;
    const ship = new LongRunningFunctionTool({
      name: 'ship',
      description: 'ships',
      requireConfirmation: true,
      execute: () => {
        shipped += 1;
      },
    });
    const { say, answer } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [ship] }));
    const question = questionIn(await say('ship it'));
    expect(shipped).toBe(0);
    expect((await answer(question?.id, { confirmed: true })).map(brief)).toEqual([
      'root: gets {"status":"pending"}',
      'root: on its way',
    ]);
    await say('hello');
    expect(shipped).toBe(1);
  });

  it('pauses a workflow, which continues after it', async () => {
    const one = await scriptedModel(paying(5), { text: 'paid' });
    const two = await scriptedModel({ text: 'booked' });
    const { pay, paid } = cashier();
    const agent = new SequentialAgent({
      name: 'pipeline',
      subAgents: [
        new LlmAgent({ name: 'payer', model: one.llm, tools: [pay] }),
        new LlmAgent({ name: 'booker', model: two.llm }),
      ],
    });
    const { say, answer } = await crashingChat(agent);
    const events = await say('go');
    expect(events.map(brief)).toEqual(['payer: calls pay', 'payer: calls adk_request_confirmation']);
    expect((await answer(questionIn(events)?.id, { confirmed: true })).map(brief)).toEqual([
      'payer: gets {"paid":5}',
      'payer: paid',
      'booker: booked',
    ]);
    expect(paid).toEqual([5]);
  });

  it('within nested agents is asked through the caller, and the answer reaches the tool', async () => {
    const inner = await scriptedModel(paying(5), paying(6), { text: 'paid both' });
    const middle = await scriptedModel(
      { calls: [{ name: 'inner', args: { request: 'pay' } }] },
      { text: 'middle says so' },
    );
    const outer = await scriptedModel(
      { calls: [{ name: 'middle', args: { request: 'pay' } }] },
      { text: 'all paid' },
    );
    const { pay, paid } = cashier();
    const innerAgent = new LlmAgent({ name: 'inner', model: inner.llm, tools: [pay] });
    const middleAgent = new LlmAgent({
      name: 'middle',
      model: middle.llm,
      tools: [new AgentTool({ agent: innerAgent })],
    });
    const agent = new LlmAgent({
      name: 'outer',
      model: outer.llm,
      tools: [new AgentTool({ agent: middleAgent })],
    });
    const { say, answer } = await crashingChat(agent);
    const first = await say('go');
    expect(first.map(brief)).toEqual(['outer: calls middle', 'outer: calls adk_request_confirmation']);
    expect(questionIn(first)?.args).toMatchObject({
      originalFunctionCall: { name: 'middle' },
      toolConfirmation: {
        hint: expect.stringContaining('pay'),
        within: { agents: ['middle', 'inner'], call: { name: 'pay', args: { amount: 5 } } },
      },
    });
    const second = await answer(questionIn(first)?.id, { confirmed: true });
    expect(second.map(brief)).toEqual(['outer: calls adk_request_confirmation']);
    expect(questionIn(second)?.args?.toolConfirmation).toMatchObject({
      within: { call: { args: { amount: 6 } } },
    });
    expect(paid).toEqual([5]);
    const third = await answer(questionIn(second)?.id, { confirmed: false });
    expect(third.map(brief)).toEqual(['outer: gets {"result":"middle says so"}', 'outer: all paid']);
    expect(paid).toEqual([5]);
    expect(JSON.stringify(inner.requests.at(-1)?.contents)).toContain('rejected');
  });
});

describe('a tool that asks for confirmation itself', () => {
  /** Makes a tool that asks a manager for days off; the manager may grant fewer. */
  function timeOff() {
    const calls: unknown[] = [];
    const tool = new FunctionTool({
      name: 'request_time_off',
      description: 'asks for days off',
      parameters: z.object({ days: z.number() }),
      execute: ({ days }, context?: Context) => {
        const { toolConfirmation } = context ?? {};
        calls.push(toolConfirmation);
        if (!toolConfirmation) {
          context?.state.set('asked', days);
          context?.requestConfirmation({ hint: 'How many days?', payload: { approved_days: 0 } });
          return { status: 'waiting' };
        }
        if (!toolConfirmation.confirmed) return { status: 'rejected' };
        return { status: 'ok', ...(toolConfirmation.payload as object) };
      },
    });
    return { tool, calls };
  }
  const asking = { calls: [{ name: 'request_time_off', args: { days: 5 } }] };

  it("continues with the person's payload (ADK defect B1)", async () => {
    const { llm, requests } = await scriptedModel(asking, { text: 'three days' });
    const { tool, calls } = timeOff();
    const { say, answer, stored } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [tool] }));
    const events = await say('five days please');
    expect(events.map(brief)).toEqual([
      'root: calls request_time_off',
      'root: calls adk_request_confirmation',
    ]);
    const question = questionIn(events);
    expect(question?.args?.toolConfirmation).toEqual({
      hint: 'How many days?',
      confirmed: false,
      payload: { approved_days: 0 },
    });
    expect((await stored()).state).toEqual({ asked: 5 });
    expect(
      (await answer(question?.id, { confirmed: true, payload: { approved_days: 3 } })).map(brief),
    ).toEqual(['root: gets {"status":"ok","approved_days":3}', 'root: three days']);
    expect(calls).toEqual([
      undefined,
      { hint: 'How many days?', confirmed: true, payload: { approved_days: 3 } },
    ]);
    expect(JSON.stringify(requests[1]?.contents)).not.toContain('waiting');
  });

  it('may ask again, and each question is answered once', async () => {
    const { llm } = await scriptedModel({ calls: [{ name: 'launch', args: {} }] }, { text: 'up' });
    const said: unknown[] = [];
    const launch = new FunctionTool({
      name: 'launch',
      description: 'launches',
      execute: (_args, context?: Context) => {
        said.push([context?.answers, context?.toolConfirmation?.confirmed]);
        if ((context?.answers ?? 0) < 2) context?.requestConfirmation({ hint: 'really?' });
        return { launched: true };
      },
    });
    const { say, answer } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [launch] }));
    const first = questionIn(await say('go'));
    const again = await answer(first?.id, { confirmed: true });
    expect(again.map(brief)).toEqual(['root: calls adk_request_confirmation']);
    const second = questionIn(again);
    expect(second?.id).not.toBe(first?.id);
    expect((await answer(second?.id, { confirmed: true })).map(brief)).toEqual([
      'root: gets {"launched":true}',
      'root: up',
    ]);
    expect(said).toEqual([
      [0, undefined],
      [1, true],
      [2, true],
    ]);
  });

  it('cannot ask in the name of another call, nor after it has failed', async () => {
    const { llm } = await scriptedModel({ calls: [{ name: 'sly', args: {} }] }, { text: 'ok' });
    const sly = new FunctionTool({
      name: 'sly',
      description: 'is sly',
      execute: (_args, context?: Context) => {
        if (context) context.actions.requestedToolConfirmations['adk-other'] = { confirmed: true };
        context?.requestConfirmation();
        throw new Error('broken');
      },
    });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [sly] }));
    expect((await say('go')).map(brief)).toEqual([
      'root: calls sly',
      'root: gets {"error":"tool sly failed: broken"}',
      'root: ok',
    ]);
  });
});
