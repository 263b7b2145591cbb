import type { Event } from '@agentmesh/protocol';
import type { FunctionResponse } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AgentTool } from '../agent-tool/agent-tool.ts';
import type { Context } from '../base/context.ts';
import { getFunctionCalls, isFinalResponse } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, crashingChat, scriptedModel } from '../harness.fixture.ts';
import type { AnswerSchema } from '../schema/answer-schema.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { requestInputTool } from '../tools/request-input-tool.ts';
import { SequentialAgent } from '../workflow/sequential-agent.ts';

const trip = z.object({ city: z.string(), nights: z.number().int().min(1) });
const booking = { calls: [{ name: 'book', args: { people: 2 } }] };

/** Makes a tool that asks for the destination, and the list of the answers that it received. */
function travelAgency(responseSchema?: AnswerSchema) {
  const inputs: unknown[] = [];
  const book = new FunctionTool({
    name: 'book',
    description: 'books a trip',
    execute: (_args, context?: Context) => {
      inputs.push(context?.inputResponse);
      if (context?.inputResponse !== undefined) return { booked: context.inputResponse };
      const more = responseSchema ? { payload: { known: ['Rome'] }, responseSchema } : {};
      return context?.requestInput({ message: 'Where to?', ...more });
    },
  });
  return { book, inputs };
}

const questionIn = (events: readonly Event[]) => events.flatMap(getFunctionCalls).at(-1);

async function asked(responseSchema?: AnswerSchema) {
  const { llm, requests } = await scriptedModel(booking, { text: 'done' });
  const { book, inputs } = travelAgency(responseSchema);
  const { say, answer, stored, runner } = await chat(
    new LlmAgent({ name: 'root', model: llm, tools: [book] }),
  );
  const events = await say('go');
  const question = questionIn(events);
  const picture = async () => ({
    session: await stored(),
    pending: await runner.sessionService.pending.list({ appName: 'app', userId: 'u' }),
  });
  return {
    events,
    question,
    inputs,
    requests,
    picture,
    answer: (response: Record<string, unknown>, more?: Partial<FunctionResponse>) =>
      answer(question?.id, response, more),
  };
}

describe('a tool that asks a person for input', () => {
  it("runs again with the person's text", async () => {
    const { events, question, inputs, requests, picture, answer } = await asked();
    expect(events.map(brief)).toEqual(['root: calls book', 'root: calls adk_request_input']);
    const [call] = events.flatMap(getFunctionCalls);
    expect(question?.args).toEqual({
      interruptId: question?.id,
      message: 'Where to?',
      originalFunctionCall: call,
    });
    const last = events.at(-1);
    expect(last?.longRunningToolIds).toEqual([question?.id]);
    expect(last && isFinalResponse(last)).toBe(true);
    expect((await picture()).pending).toMatchObject([{ id: question?.id, kind: 'input', agent: 'root' }]);
    const after = await answer({ result: 'Rome' }, { name: 'adk_request_input' });
    expect(after.map(brief)).toEqual(['root: gets {"booked":"Rome"}', 'root: done']);
    expect(inputs).toEqual([undefined, 'Rome']);
    expect((await picture()).pending).toEqual([]);
    expect(JSON.stringify(requests[1]?.contents)).not.toContain('Where to?');
  });

  it('receives an object that fits its schema, which the question holds in both spellings', async () => {
    const { question, answer } = await asked(trip);
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' }, nights: expect.objectContaining({ minimum: 1 }) },
      required: ['city', 'nights'],
    };
    expect(question?.args).toMatchObject({
      message: 'Where to?',
      payload: { known: ['Rome'] },
      responseSchema: schema,
      response_schema: schema,
    });
    const after = await answer({ city: 'Rome', nights: 2 });
    expect(after.map(brief)[0]).toBe('root: gets {"booked":{"city":"Rome","nights":2}}');
  });

  it.each<[string, AnswerSchema, Record<string, unknown>, unknown]>([
    ['an object as a result', trip, { result: { city: 'Rome', nights: 2 } }, { city: 'Rome', nights: 2 }],
    ['a number', { type: 'number' }, { result: 3 }, 3],
    ['an object that has a result', z.object({ result: z.number() }), { result: 3 }, { result: 3 }],
    ['anything', {}, { result: { a: 1 } }, { a: 1 }],
    ['nothing, where that fits', { type: 'null' }, { result: null }, null],
  ])('receives %s', async (_what, schema, response, value) => {
    const { inputs, answer } = await asked(schema);
    await answer(response);
    expect(inputs).toEqual([undefined, value]);
  });

  it.each<[string, AnswerSchema | undefined, Record<string, unknown>, string]>([
    ['nothing', undefined, {}, '"result"'],
    ['a missing field', trip, { city: 'Rome' }, '"nights"'],
    ['a wrong field', trip, { result: { city: 'Rome', nights: 0 } }, '"nights"'],
    ['words where an object is wanted', trip, { result: 'Rome' }, '(all)'],
    ['no choice that there is', { type: 'string', enum: ['a', 'b'] }, { result: 'c' }, '(all)'],
  ])('does not receive %s; the question stays open', async (_what, schema, response, words) => {
    const { inputs, picture, answer } = await asked(schema);
    const before = await picture();
    await expect(answer(response)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(words),
    });
    expect(await picture()).toEqual(before);
    expect(inputs).toHaveLength(1);
  });

  it('may ask for a confirmation first, and for several inputs', async () => {
    const { llm } = await scriptedModel(booking, { text: 'done' });
    const inputs: unknown[] = [];
    const book = new FunctionTool({
      name: 'book',
      description: 'books a trip',
      requireConfirmation: true,
      execute: (_args, context?: Context) => {
        inputs.push([context?.answers, context?.inputResponse]);
        if ((context?.answers ?? 0) < 3) return context?.requestInput({ message: `${context.answers}?` });
        return { booked: true };
      },
    });
    const { say, answer } = await crashingChat(new LlmAgent({ name: 'root', model: llm, tools: [book] }));
    const first = await say('go');
    const second = await answer(questionIn(first)?.id, { confirmed: true });
    const third = await answer(questionIn(second)?.id, { result: 'Rome' });
    const last = await answer(questionIn(third)?.id, { result: 'May' });
    expect([...first, ...second, ...third, ...last].map(brief)).toEqual([
      'root: calls book',
      'root: calls adk_request_confirmation',
      'root: calls adk_request_input',
      'root: calls adk_request_input',
      'root: gets {"booked":true}',
      'root: done',
    ]);
    expect(inputs).toEqual([
      [1, undefined],
      [2, 'Rome'],
      [3, 'May'],
    ]);
  });

  it('pauses a workflow, which continues after it, whenever the process dies', async () => {
    const one = await scriptedModel(booking, { text: 'booked' });
    const two = await scriptedModel({ text: 'packed' });
    const { book } = travelAgency(trip);
    const agent = new SequentialAgent({
      name: 'holiday',
      subAgents: [
        new LlmAgent({ name: 'booker', model: one.llm, tools: [book] }),
        new LlmAgent({ name: 'packer', model: two.llm }),
      ],
    });
    const { say, answer } = await crashingChat(agent);
    const events = await say('go');
    expect(events.map(brief)).toEqual(['booker: calls book', 'booker: calls adk_request_input']);
    const after = await answer(questionIn(events)?.id, { city: 'Rome', nights: 2 }, 'e-1');
    expect(after.map(brief)).toEqual([
      'booker: gets {"booked":{"city":"Rome","nights":2}}',
      'booker: booked',
      'packer: packed',
    ]);
  });

  it('within an agent that is used as a tool asks through the caller', async () => {
    const inner = await scriptedModel(booking, { text: 'Rome it is' });
    const outer = await scriptedModel(
      { calls: [{ name: 'agency', args: { request: 'book' } }] },
      { text: 'done' },
    );
    const { book, inputs } = travelAgency(trip);
    const agency = new LlmAgent({ name: 'agency', model: inner.llm, tools: [book] });
    const agent = new LlmAgent({
      name: 'root',
      model: outer.llm,
      tools: [new AgentTool({ agent: agency })],
    });
    const { say, answer } = await crashingChat(agent);
    const events = await say('go');
    expect(events.map(brief)).toEqual(['root: calls agency', 'root: calls adk_request_input']);
    const question = questionIn(events);
    expect(question?.args).toMatchObject({
      message: 'Where to?',
      payload: { known: ['Rome'] },
      responseSchema: { required: ['city', 'nights'] },
      originalFunctionCall: { name: 'agency' },
      within: { agents: ['agency'], call: { name: 'book', args: { people: 2 } } },
    });
    const after = await answer(question?.id, { city: 'Rome', nights: 2 });
    expect(after.map(brief)).toEqual(['root: gets {"result":"Rome it is"}', 'root: done']);
    expect(inputs.at(-1)).toEqual({ city: 'Rome', nights: 2 });
  });

  it('cannot ask in the name of another call, nor after it has failed', async () => {
    const { llm } = await scriptedModel({ calls: [{ name: 'sly', args: {} }] }, { text: 'ok' });
    const sly = new FunctionTool({
      name: 'sly',
      description: 'is sly',
      execute: (_args, context?: Context) => {
        context?.requestInput({ message: 'password?' });
        if (context?.actions.requestedInputs) context.actions.requestedInputs['adk-x'] = { message: 'x' };
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

describe('the tool request_input', () => {
  it('lets a model ask the user, with choices', async () => {
    const ask = { name: 'request_input', args: { message: 'Red or blue?', choices: ['red', 'blue'] } };
    const { llm } = await scriptedModel({ calls: [ask] }, { text: 'blue it is' });
    const { say, answer } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [requestInputTool] }));
    const question = questionIn(await say('paint it'));
    expect(question?.args).toMatchObject({
      message: 'Red or blue?',
      responseSchema: { enum: ['red', 'blue'] },
    });
    await expect(answer(question?.id, { result: 'green' })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    expect((await answer(question?.id, { result: 'blue' })).map(brief)).toEqual([
      'root: gets {"answer":"blue"}',
      'root: blue it is',
    ]);
  });
});
