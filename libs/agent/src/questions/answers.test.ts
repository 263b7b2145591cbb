import type { FunctionResponse } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AgentTool } from '../agent-tool/agent-tool.ts';
import type { Context } from '../base/context.ts';
import { getFunctionCalls } from '../events/event.ts';
import { failureEventId } from '../events/run-ids.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, scriptedModel } from '../harness.fixture.ts';
import type { AnswerSchema } from '../schema/answer-schema.ts';
import { FunctionTool } from '../tools/function-tool.ts';

const days = z.object({ approved_days: z.number().int().min(0).max(5), note: z.string().optional() });

/** Makes a tool that asks how many days off are approved. */
function timeOff(payloadSchema: AnswerSchema = days, payload?: unknown) {
  return new FunctionTool({
    name: 'time_off',
    description: 'asks for days off',
    execute: (_args, context?: Context) => {
      if (context?.toolConfirmation) return { granted: context.toolConfirmation.payload ?? null };
      return context?.requestConfirmation({ hint: 'How many?', payload, payloadSchema });
    },
  });
}

/** Starts a conversation in which the tool has asked; `picture` shows that an answer changed nothing. */
async function asked(tool = timeOff()) {
  const { llm } = await scriptedModel({ calls: [{ name: 'time_off', args: { days: 5 } }] }, { text: 'done' });
  const root = new LlmAgent({ name: 'root', model: llm, tools: [tool] });
  const { say, answer, stored, runner } = await chat(root);
  const events = await say('go');
  const question = events.flatMap(getFunctionCalls).at(-1);
  const picture = async () => {
    const { events: log, state } = await stored();
    const pending = await runner.sessionService.pending.list({ appName: 'app', userId: 'u' });
    return { log, state, pending };
  };
  return {
    question,
    runner,
    stored,
    picture,
    answer: (response: Record<string, unknown>, more?: Partial<FunctionResponse>) =>
      answer(question?.id, response, more),
  };
}

describe("a payload that only repeats the arguments of the call, as ADK's web UI sends it", () => {
  it.each([
    ['yes', { confirmed: true }, { granted: { approved_days: 1 } }],
    ['no', { confirmed: false }, { granted: { approved_days: 1 } }],
  ])('is ignored when a person says %s', async (_word, said, response) => {
    const { answer } = await asked(timeOff(days, { approved_days: 1 }));
    const [first] = await answer({ ...said, payload: { days: 5 } });
    expect(first && brief(first)).toBe(`root: gets ${JSON.stringify(response)}`);
  });

  it('is kept when it fits the schema', async () => {
    const { answer } = await asked(timeOff(z.object({ days: z.number() }), { days: 1 }));
    const [first] = await answer({ confirmed: true, payload: { days: 5 } });
    expect(first && brief(first)).toBe('root: gets {"granted":{"days":5}}');
  });

  it("is refused like an absent payload, when the question's own payload does not fit either", async () => {
    const { answer } = await asked();
    await expect(answer({ confirmed: true, payload: { days: 5 } })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    const [first] = await answer({ confirmed: false, payload: { days: 5 } });
    expect(first && brief(first)).toBe('root: gets {"granted":null}');
  });
});

describe('an answer with a schema', () => {
  it.each<[string, AnswerSchema]>([
    ['of zod', days],
    [
      'in JSON',
      {
        type: 'object',
        properties: { approved_days: { type: 'integer', minimum: 0, maximum: 5 }, note: { type: 'string' } },
        required: ['approved_days'],
      },
    ],
  ])('%s gets the schema with the question, and is accepted when it fits', async (_what, schema) => {
    const { question, answer } = await asked(timeOff(schema));
    expect(question?.args?.toolConfirmation).toEqual({
      hint: 'How many?',
      confirmed: false,
      payloadSchema: {
        type: 'object',
        properties: {
          approved_days: { type: 'integer', minimum: 0, maximum: 5 },
          note: { type: 'string' },
        },
        required: ['approved_days'],
      },
    });
    const after = await answer({ confirmed: true, payload: { approved_days: 3 } });
    expect(after.map(brief)).toEqual(['root: gets {"granted":{"approved_days":3}}', 'root: done']);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['too much', { confirmed: true, payload: { approved_days: 6 } }, 'approved_days'],
    ['the wrong type', { confirmed: true, payload: { approved_days: '3' } }, 'approved_days'],
    ['a wrong field beside', { confirmed: true, payload: { approved_days: 3, note: 7 } }, 'note'],
    ['nothing', { confirmed: true }, '(all)'],
    ['a missing field', { confirmed: true, payload: {} }, 'approved_days'],
    ['no object', { confirmed: true, payload: [3] }, '(all)'],
    ['a no with what does not fit', { confirmed: false, payload: 3 }, '(all)'],
    ['text that does not fit', { response: '{"confirmed": true, "payload": {}}' }, 'approved_days'],
  ])(
    'is refused for %s, with the name of the field; the question stays open',
    async (_what, response, field) => {
      const { picture, answer } = await asked();
      const before = await picture();
      await expect(answer(response)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining(field),
      });
      expect(await picture()).toEqual(before);
      expect((await answer({ confirmed: true, payload: { approved_days: 1 } })).map(brief)[0]).toBe(
        'root: gets {"granted":{"approved_days":1}}',
      );
    },
  );

  it('may be a no without a payload, or leave a fitting payload unchanged', async () => {
    const rejected = await asked();
    expect((await rejected.answer({ confirmed: false })).map(brief)[0]).toBe('root: gets {"granted":null}');
    const left = await asked(timeOff(days, { approved_days: 2 }));
    expect((await left.answer({ confirmed: true })).map(brief)[0]).toBe(
      'root: gets {"granted":{"approved_days":2}}',
    );
  });

  it('requires keys that may have any value', async () => {
    const { answer } = await asked(timeOff({ type: 'object', required: ['reason'] }));
    await expect(answer({ confirmed: true, payload: { other: 1 } })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('"reason"'),
    });
  });

  it('is asked by the caller of an agent that is used as a tool, with the same schema', async () => {
    const inner = await scriptedModel({ calls: [{ name: 'time_off', args: {} }] }, { text: 'two days' });
    const outer = await scriptedModel(
      { calls: [{ name: 'office', args: { request: 'days off' } }] },
      { text: 'done' },
    );
    const office = new LlmAgent({ name: 'office', model: inner.llm, tools: [timeOff()] });
    const root = new LlmAgent({ name: 'root', model: outer.llm, tools: [new AgentTool({ agent: office })] });
    const { say, answer } = await chat(root);
    const question = (await say('go')).flatMap(getFunctionCalls).at(-1);
    expect(question?.args?.toolConfirmation).toMatchObject({
      payloadSchema: { required: ['approved_days'] },
    });
    await expect(answer(question?.id, { confirmed: true, payload: {} })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    const after = await answer(question?.id, { confirmed: true, payload: { approved_days: 2 } });
    expect(after.map(brief)).toEqual(['root: gets {"result":"two days"}', 'root: done']);
  });

  it.each<[string, AnswerSchema]>([
    ['what JSON schema cannot hold', z.object({ when: z.date() })],
    ['what cannot be checked', { if: {} }],
    ['a schema of another kind', { type: 'OBJECT' }],
  ])('cannot be asked with %s: the call fails', async (_what, schema) => {
    const { stored } = await asked(timeOff(schema));
    const [, , failed] = (await stored()).events;
    expect(failed && brief(failed)).toContain('payloadSchema must be a zod schema or a JSON schema');
  });
});

it('is not expected when a remote tool asks with an unreadable schema', async () => {
  const tool = new FunctionTool({
    name: 'time_off',
    description: 'asks as a program of another language may',
    execute: (_args, context?: Context) => {
      const { functionCallId = '', actions } = context ?? {};
      if (actions) {
        actions.requestedToolConfirmations[functionCallId] = {
          confirmed: false,
          payloadSchema: { type: 'strange' },
        };
      }
    },
  });
  const { stored, picture } = await asked(tool);
  expect((await stored()).events.map(brief).slice(1)).toEqual([
    'root: calls time_off',
    expect.stringContaining('tool time_off: payloadSchema must be a zod schema or a JSON schema'),
    'root: done',
  ]);
  expect((await picture()).pending).toEqual([]);
});

describe('an answer', () => {
  const yes = { confirmed: true, payload: { approved_days: 1 } };

  it.each<[string, (call: object) => object]>([
    ['arguments', (call) => ({ ...call, args: { days: 50 } })],
    ['name', (call) => ({ ...call, name: 'fire' })],
    ['id', (call) => ({ ...call, id: 'adk-other' })],
    ['form', () => ['time_off']],
    [
      'arguments, with a key more',
      (call) => ({ ...call, args: JSON.parse('{"days":5,"__proto__":{"a":1}}') }),
    ],
  ])('that names a call of another %s is refused', async (_what, forge) => {
    const { question, picture, answer } = await asked();
    const before = await picture();
    const originalFunctionCall = forge((question?.args?.originalFunctionCall ?? {}) as object);
    const refused = { code: 'failed_precondition', details: { reason: 'message_refused' } };
    await expect(answer({ ...yes, originalFunctionCall })).rejects.toMatchObject(refused);
    const text = JSON.stringify({ ...yes, originalFunctionCall });
    await expect(answer({ response: text })).rejects.toMatchObject(refused);
    expect(await picture()).toEqual(before);
  });

  it('that names the recorded call is accepted, and only the requested fields are stored', async () => {
    const { question, stored, answer } = await asked();
    const { originalFunctionCall } = question?.args ?? {};
    await answer({ ...yes, originalFunctionCall, more: 1 }, { name: 'adk_request_confirmation' });
    const said = (await stored()).events.findLast(({ author }) => author === 'user');
    expect(said?.content?.parts?.[0]?.functionResponse?.response).toEqual(yes);
  });

  it('by the name of another question is refused', async () => {
    const { picture, answer } = await asked();
    const before = await picture();
    for (const name of ['adk_request_credential', 'time_off', 'adk_request_input']) {
      await expect(answer(yes, { name })).rejects.toMatchObject({ code: 'failed_precondition' });
    }
    expect(await picture()).toEqual(before);
  });

  it('to a run that was cancelled is refused', async () => {
    const { runner, stored, answer } = await asked();
    const session = await stored();
    const { invocationId = '' } = session.events[0] ?? {};
    await runner.sessionService.appendEvent({
      session,
      event: {
        ...(session.events[0] as (typeof session.events)[0]),
        id: failureEventId({ invocationId }),
        author: 'root',
        errorCode: 'cancelled',
      },
    });
    await expect(answer(yes)).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('cancelled'),
    });
  });
});
