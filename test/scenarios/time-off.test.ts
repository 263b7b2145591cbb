import { getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import type { AddressedCall } from '@agentmesh/mesh';
import type { Event } from '@agentmesh/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runDocCommands } from '../doc-commands.ts';
import { lastText, restClient } from '../rest-client.ts';
import { framesOf } from '../sse-client.ts';

const app = 'time_off_app';
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;

beforeAll(async () => {
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'time_off_agent'),
    model: 'scripted',
  });
  client = restClient(mesh.gatewayUrl);
});
afterAll(() => mesh?.[Symbol.asyncDispose]());

/** Makes a session that asks for days off. Returns it with its pending question. */
async function wanting(days: number) {
  const session = await client.createSession(app);
  await client.events(app, session, `I want ${days} days off, please.`);
  const pending = async () => {
    const response = await client.send('GET', `/apps/${app}/users/u1/sessions/${session}/pending`);
    return ((await response.json()) as { pending: AddressedCall[] }).pending;
  };
  const [question] = await pending();
  const answer = (response: unknown) =>
    client.send('POST', '/run_sse', {
      app_name: app,
      user_id: 'u1',
      session_id: session,
      new_message: {
        role: 'user',
        parts: [{ function_response: { id: question?.id, name: 'adk_request_confirmation', response } }],
      },
    });
  return { question, pending, answer };
}

async function eventsIn(response: Response): Promise<Event[]> {
  return (await Array.fromAsync(framesOf(response))).map(({ event }) => event);
}

const resultsIn = (events: Event[]) => events.flatMap(getFunctionResponses).map(({ response }) => response);

describe('time_off_app', () => {
  it('asks the manager for a number of days, and shows the form of an answer', async () => {
    const { question } = await wanting(5);
    expect(question).toMatchObject({
      name: 'adk_request_confirmation',
      kind: 'confirmation',
      args: {
        originalFunctionCall: { name: 'request_time_off', args: { days: 5 } },
        toolConfirmation: {
          hint: expect.stringContaining('5 days'),
          payload: { approvedDays: 0 },
          payloadSchema: { type: 'object', required: ['approvedDays'] },
        },
      },
    });
  });

  it.each([
    ['fewer than were asked for', { confirmed: true, payload: { approvedDays: 3 } }, 'ok', 3],
    ['more than were asked for', { confirmed: true, payload: { approvedDays: 30 } }, 'ok', 5],
    ['none', { confirmed: true, payload: { approvedDays: 0 } }, 'rejected', 0],
    ['the payload as it was', { confirmed: true }, 'rejected', 0],
    ['a no', { confirmed: false }, 'rejected', 0],
  ])('takes the answer of the manager: %s', async (_what, response, status, approvedDays) => {
    const { answer, pending } = await wanting(5);
    const events = await eventsIn(await answer(response));
    expect(resultsIn(events)).toMatchObject([{ status, approvedDays }]);
    expect(lastText(events)).toBe(
      status === 'ok' ? `You have ${approvedDays} of 5 days off.` : 'You have no days off: rejected.',
    );
    expect(await pending()).toEqual([]);
  });

  it.each([
    ['words for a number', { confirmed: true, payload: { approvedDays: 'three' } }],
    ['less than nothing', { confirmed: true, payload: { approvedDays: -1 } }],
    ['half a day', { confirmed: true, payload: { approvedDays: 0.5 } }],
    ['another key', { confirmed: true, payload: { days: 3 } }],
    ['neither yes nor no', { payload: { approvedDays: 3 } }],
  ])('refuses an answer with %s, and keeps waiting', async (_what, wrong) => {
    const { answer, pending, question } = await wanting(5);
    const refused = await answer(wrong);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ code: 'invalid_argument' });
    expect((await pending()).map(({ id }) => id)).toEqual([question?.id]);
    const events = await eventsIn(await answer({ confirmed: true, payload: { approvedDays: 2 } }));
    expect(lastText(events)).toBe('You have 2 of 5 days off.');
  });

  it('takes a plain no when the run allows it', async () => {
    const session = await client.createSession(app);
    await client.events(app, session, 'I want 5 days off, please.');
    const plain = { run_config: { plain_text_tool_confirmation: true } };
    const events = await client.events(app, session, 'no', plain);
    expect(lastText(events)).toBe('You have no days off: rejected.');
  });

  it('is answered with curl as docs/long-running.md shows', async () => {
    const events = await runDocCommands('docs/long-running.md', app, mesh.gatewayUrl);
    expect(events.flatMap(getFunctionCalls).map(({ name }) => name)).toEqual([
      'request_time_off',
      'adk_request_confirmation',
    ]);
    expect(resultsIn(events)).toEqual([{ status: 'ok', requestedDays: 5, approvedDays: 3 }]);
    expect(lastText(events)).toBe('You have 3 of 5 days off.');
  });
});
