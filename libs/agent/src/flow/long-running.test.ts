import type { Event } from '@agentmesh/protocol';
import type { Part } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { getFunctionResponses } from '../events/event.ts';
import { brief, chat, runWithCrashes, scriptedModel } from '../harness.fixture.ts';
import { LongRunningFunctionTool } from '../tools/function-tool.ts';
import { LlmAgent } from './llm-agent.ts';

const call = { calls: [{ name: 'approve', args: {} }] };

async function approver(execute: () => unknown, ...replies: Parameters<typeof scriptedModel>) {
  const { llm, requests } = await scriptedModel(...replies);
  const approve = new LongRunningFunctionTool({ name: 'approve', description: 'asks', execute });
  return { agent: new LlmAgent({ name: 'root', model: llm, tools: [approve] }), requests };
}

const idOf = (events: readonly Event[]) =>
  events.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds)[0];

describe('a long-running tool', () => {
  it('returns a ticket, which the later answer replaces in the prompt', async () => {
    const { agent, requests } = await approver(
      () => ({ status: 'pending', ticket: 1 }),
      call,
      { text: 'waiting' },
      { text: 'half way' },
      { text: 'paid' },
    );
    const { say, answer } = await chat(agent);
    const events = await say('go');
    expect(events.map(brief)).toEqual([
      'root: calls approve',
      'root: gets {"status":"pending","ticket":1}',
      'root: waiting',
    ]);
    const id = idOf(events);
    expect((await answer(id, { status: 'working' }, { willContinue: true })).map(brief)).toEqual([
      'root: half way',
    ]);
    expect((await answer(id, { status: 'approved' })).map(brief)).toEqual(['root: paid']);
    expect(requests.at(-1)?.contents.map(({ parts }) => Object.keys(parts?.[0] ?? {})[0])).toEqual([
      'text',
      'functionCall',
      'functionResponse',
    ]);
    const shown = JSON.stringify(requests.at(-1)?.contents);
    expect(shown).toContain('approved');
    expect(shown).not.toMatch(/pending|waiting|working|willContinue/);
  });

  it.each([
    ['two outcomes', [{ response: { ok: 1 } }, { response: { ok: 2 } }], /two outcomes for call/],
    ['an outcome without a response', [{}], /has no object "response"/],
    ['an outcome that is a text', [{ response: 'yes' }], /functionResponse\.response: .*record/],
  ])('refuses a message with %s, and takes a whole one afterwards', async (_name, given, says) => {
    const { agent } = await approver(() => ({ ticket: 1 }), call, { text: 'waiting' }, { text: 'paid' });
    const { say, answer, runner, stored } = await chat(agent);
    const id = idOf(await say('go')) ?? '';
    const parts = given.map((fields) => ({ functionResponse: { id, ...fields } })) as Part[];
    const before = await stored();
    const run = runner.runAsync({ userId: 'u', sessionId: before.id, newMessage: { parts } });
    await expect(Array.fromAsync(run)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(says),
    });
    expect(await stored()).toEqual(before);
    expect((await answer(id, { status: 'approved' })).map(brief)).toEqual(['root: paid']);
  });

  it('takes progress and the outcome in one message', async () => {
    const { agent, requests } = await approver(
      () => ({ ticket: 1 }),
      call,
      { text: 'waiting' },
      { text: 'paid' },
    );
    const { say, runner, stored } = await chat(agent);
    const id = idOf(await say('go')) ?? '';
    const parts = [
      { functionResponse: { id, response: { half: 1 }, willContinue: true } },
      { functionResponse: { id, response: { whole: 1 } } },
    ];
    const { id: sessionId } = await stored();
    await Array.fromAsync(runner.runAsync({ userId: 'u', sessionId, newMessage: { parts } }));
    expect(JSON.stringify(requests.at(-1)?.contents)).toContain('whole');
  });

  it('without a ticket leaves the call pending; other turns do not show it to the model (ADK defect B21)', async () => {
    const { agent, requests } = await approver(
      () => undefined,
      call,
      { text: 'patience' },
      { text: 'thanks' },
    );
    const { say, answer } = await chat(agent);
    const events = await say('go');
    expect(events.map(brief)).toEqual(['root: calls approve']);
    expect((await say('well?')).map(brief)).toEqual(['root: patience']);
    expect(JSON.stringify(requests[1]?.contents)).not.toContain('functionCall');
    expect((await answer(idOf(events), { ok: true })).map(brief)).toEqual(['root: thanks']);
  });

  it('that is a generator reports progress, committed in order, and returns the result', async () => {
    const { agent, requests } = await approver(
      async function* () {
        yield { progress: 1 };
        yield { progress: 2 };
        return { done: true };
      },
      call,
      { text: 'ok' },
    );
    const { say, stored } = await chat(agent);
    const events = await say('go');
    expect(events.map(brief)).toEqual([
      'root: calls approve',
      'root: gets {"progress":1}',
      'root: gets {"progress":2}',
      'root: gets {"done":true}',
      'root: ok',
    ]);
    expect(
      new Set(
        events
          .slice(1, 4)
          .flatMap(getFunctionResponses)
          .map(({ id }) => id),
      ),
    ).toEqual(new Set([idOf(events)]));
    expect((await stored()).events).toHaveLength(6);
    expect(JSON.stringify(requests[1]?.contents)).toMatch(/done/);
    expect(JSON.stringify(requests[1]?.contents)).not.toMatch(/progress/);
  });

  it('that is a generator and throws is an error', async () => {
    const { agent } = await approver(
      async function* () {
        yield { progress: 1 };
        throw new Error('lost');
      },
      call,
      { text: 'pity' },
    );
    expect((await (await chat(agent)).say('go')).map(brief)).toEqual([
      'root: calls approve',
      'root: gets {"progress":1}',
      'root: gets {"error":"tool approve failed: lost"}',
      'root: pity',
    ]);
  });

  it('is not run again after a crash; the model is told', async () => {
    let ran = 0;
    const ticket = await approver(() => ({ ran: ++ran }), call, { text: 'hm' });
    const events = await runWithCrashes(ticket.agent);
    expect(events.map(brief)).toEqual([
      'root: calls approve',
      expect.stringContaining('"status":"interrupted"'),
      'root: hm',
    ]);
    expect(ran).toBe(0);
    const generator = await approver(
      async function* () {
        yield { progress: ++ran };
        return {};
      },
      call,
      { text: 'hm' },
    );
    expect((await runWithCrashes(generator.agent)).map(brief)[1]).toContain('"status":"interrupted"');
    expect(ran).toBe(0);
  });
});
