import { type BaseEvent, EventType, HttpAgent, type Interrupt, type Message } from '@ag-ui/client';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { agentManifest } from '@agentmesh/mesh';
import { until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deskApp } from '../browser/desk/src/agent.ts';
import { restClient } from '../rest-client.ts';

let mesh: LocalMesh;
const desk = { manifest: agentManifest(deskApp), folder: 'test/browser/desk' };
beforeAll(async () => {
  mesh = await launchMesh({ services: [desk], model: 'scripted', ackWaitMs: 1_000 });
});
afterAll(() => mesh?.[Symbol.asyncDispose]());

/** AG-UI's own client at an app, which checks the order and the form of the events that come. */
function agent(threadId: string, app = 'desk_app') {
  const http = new HttpAgent({ url: `${mesh.gatewayUrl}/apps/${app}/users/ann/ag-ui`, threadId });
  /** Runs, and returns the events. */
  const run = async (...[parameters]: Parameters<HttpAgent['runAgent']>) => {
    const events: BaseEvent[] = [];
    await http.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
    return events;
  };
  const say = (text: string, parameters?: Parameters<HttpAgent['runAgent']>[0]) => {
    http.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
    return run(parameters);
  };
  /** Sends the result of a tool that the client has run. */
  const tell = (toolCallId: string, result: object) => {
    const content = JSON.stringify(result);
    http.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content });
    return run();
  };
  return { http, run, say, tell };
}

/** Returns the types of the events, those of several pieces of a text as one. */
const typesOf = (events: readonly BaseEvent[]) =>
  events.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
const contentOf = (message: Message | undefined) =>
  message && 'content' in message ? message.content : undefined;

describe('a conversation with the client of AG-UI', () => {
  it('has tool calls, changes of the state, a confirmation, and pieces of answers', async () => {
    const { http, run, say } = agent('talk');
    const saved = await say('Save note.txt');
    expect(typesOf(saved)).toEqual([
      ...[EventType.RUN_STARTED, EventType.STATE_SNAPSHOT],
      ...[EventType.TOOL_CALL_START, EventType.TOOL_CALL_ARGS, EventType.TOOL_CALL_END],
      ...[EventType.TOOL_CALL_RESULT, EventType.STATE_DELTA],
      ...[EventType.TEXT_MESSAGE_START, EventType.TEXT_MESSAGE_CONTENT, EventType.TEXT_MESSAGE_END],
      EventType.RUN_FINISHED,
    ]);
    expect(http.state).toEqual({ last_file: 'note.txt' });
    expect(http.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(http.messages[1]).toMatchObject({ toolCalls: [{ function: { name: 'save_file' } }] });
    expect(contentOf(http.messages.at(-1))).toBe('I have saved note.txt.');
    expect(saved.at(-1)).toMatchObject({ outcome: { type: 'success' } });

    const asked = await say('Order lunch');
    expect(asked.at(-1)).toMatchObject({ type: EventType.RUN_FINISHED, outcome: { type: 'interrupt' } });
    const [interrupt] = http.pendingInterrupts as [Interrupt];
    const call = http.messages.at(-1);
    expect(interrupt).toMatchObject({
      reason: 'tool_call',
      toolCallId: call && 'toolCalls' in call ? call.toolCalls?.[0]?.id : '',
      responseSchema: { required: ['confirmed'] },
    });
    const confirmed = await run({
      resume: [{ interruptId: interrupt.id, status: 'resolved', payload: { confirmed: true } }],
    });
    expect(typesOf(confirmed)).toContain(EventType.TOOL_CALL_RESULT);
    expect(http.pendingInterrupts).toEqual([]);
    expect(contentOf(http.messages.at(-1))).toBe('Lunch is ordered.');

    const told = await say('Tell me a story');
    const pieces = told.filter(({ type }) => type === EventType.TEXT_MESSAGE_CONTENT);
    expect(pieces.length).toBeGreaterThan(1);
    expect(contentOf(http.messages.at(-1))).toBe('Once upon a time.');
    const log = await restClient(mesh.gatewayUrl).send('GET', '/apps/desk_app/users/ann/sessions/talk');
    const { state, events } = (await log.json()) as { state: object; events: { author: string }[] };
    expect(state).toEqual({ last_file: 'note.txt' });
    expect(events.filter(({ author }) => author === 'user')).toHaveLength(4);
  });

  it('has a confirmation that is cancelled, which refuses the call', async () => {
    const { http, run, say } = agent('refused');
    await say('Order lunch');
    const [interrupt] = http.pendingInterrupts as [Interrupt];
    await run({ resume: [{ interruptId: interrupt.id, status: 'cancelled' }] });
    expect(contentOf(http.messages.at(-1))).toMatch(/^Lunch is not ordered/);
  });

  it('gives the state of the client to the session, and only what has changed', async () => {
    const { http, say } = agent('state');
    http.setState({ color: 'blue' });
    await say('Save a.txt');
    expect(http.state).toEqual({ color: 'blue', last_file: 'a.txt' });
    const read = async () => {
      const answer = await restClient(mesh.gatewayUrl).send('GET', '/apps/desk_app/users/ann/sessions/state');
      return ((await answer.json()) as { state: object }).state;
    };
    expect(await read()).toEqual({ color: 'blue', last_file: 'a.txt' });
    http.setState({ color: 'red', last_file: 'a.txt' });
    await say('Save b.txt');
    expect(await read()).toEqual({ color: 'red', last_file: 'b.txt' });
  });

  it('ends as cancelled when an operator cancels the run', async () => {
    const { say } = agent('long');
    const finished = say('Tell me a long story');
    const client = restClient(mesh.gatewayUrl);
    const session = '/apps/desk_app/users/ann/sessions/long';
    let invocation = '';
    await until(
      async () => {
        const answer = await client.send('GET', `${session}/events`);
        if (!answer.ok) return false;
        const { events } = (await answer.json()) as { events: { event: { invocationId: string } }[] };
        invocation = events[0]?.event.invocationId ?? '';
        return invocation !== '';
      },
      { what: 'the run' },
    );
    expect((await client.send('POST', `${session}/invocations/${invocation}/cancel`)).status).toBe(202);
    expect((await finished).at(-1)).toMatchObject({ outcome: { type: 'cancelled' } });
  });
});

const pickColor = {
  name: 'pick_color',
  description: 'Lets the user pick a color.',
  parameters: { type: 'object', properties: { near: { type: 'string' } }, required: ['near'] },
};
/** The part of a frontend's input that stays the same for each message. */
const frontend = {
  tools: [pickColor],
  context: [{ description: 'the room', value: 'hall' }],
  forwardedProps: { folder: 'drafts' },
};
/** Returns the id of the last call of a tool of the client. */
const callIn = (events: readonly BaseEvent[]) => {
  const started = events.findLast((event) => 'toolCallName' in event && event.toolCallName === 'pick_color');
  return started && 'toolCallId' in started ? String(started.toolCallId) : '';
};
const readSession = async (session: string) => {
  const client = restClient(mesh.gatewayUrl);
  const answer = await client.send('GET', `/apps/desk_app/users/ann/sessions/${session}`);
  return (await answer.json()) as {
    state: object;
    events: { author: string; content?: { parts: { functionResponse?: { name: string } }[] } }[];
  };
};

describe('a frontend with tools', () => {
  it('runs them between the runs, and gives context and properties to its run', async () => {
    const { http, say, tell } = agent('tools');
    const asked = await say('Pick a color', frontend);
    const call = [EventType.TOOL_CALL_START, EventType.TOOL_CALL_ARGS, EventType.TOOL_CALL_END];
    expect(typesOf(asked)).toEqual([
      ...[EventType.RUN_STARTED, EventType.STATE_SNAPSHOT, ...call, ...call],
      ...[EventType.TOOL_CALL_RESULT, EventType.STATE_DELTA, EventType.RUN_FINISHED],
    ]);
    expect(asked.at(-1)).toMatchObject({ outcome: { type: 'success' } });
    // The tool of the mesh read the properties of the run.
    const saved = { name: 'color.txt', version: 0, folder: 'drafts' };
    expect(JSON.parse(String(contentOf(http.messages.find(({ role }) => role === 'tool'))))).toEqual(saved);
    const again = await tell(callIn(asked), { color: 'another' });
    await tell(callIn(again), { color: 'blue' });
    expect(contentOf(http.messages.at(-1))).toBe('blue for the hall.');
    const { state, events } = await readSession('tools');
    expect(state).toEqual({ last_file: 'color.txt' });
    expect(events[0]?.content?.parts).toEqual([{ text: 'Pick a color' }]);
    await say('Save note.txt');
    expect(JSON.parse(String(contentOf(http.messages.at(-2))))).toEqual({ name: 'note.txt', version: 0 });
    const twice = { id: 'm', role: 'tool', toolCallId: callIn(again), content: 'red' };
    const refused = await restClient(mesh.gatewayUrl).send('POST', '/apps/desk_app/users/ann/ag-ui', {
      ...{ threadId: 'tools', runId: 'twice', messages: [twice] },
    });
    expect([refused.status, await refused.text()]).toEqual([
      412,
      expect.stringContaining('it may have one already'),
    ]);
  });

  it('goes on at another replica when the agent is killed behind the answer of the client', async () => {
    const { http, say, tell } = agent('killed');
    const asked = await say('Pick a color', frontend);
    const again = await tell(callIn(asked), { color: 'another' });
    const finished = tell(callIn(again), { color: 'slow' });
    const answersIn = async () =>
      (await readSession('killed')).events.filter(
        ({ author, content }) =>
          author === 'user' && content?.parts.some(({ functionResponse }) => functionResponse),
      ).length;
    await until(async () => (await answersIn()) === 2, { what: 'the answer in the log' });
    await mesh.processes[0]?.kill();
    await mesh.start(desk);
    expect((await finished).at(-1)).toMatchObject({ outcome: { type: 'success' } });
    expect(contentOf(http.messages.at(-1))).toBe('slow for the hall.');
    expect(await answersIn()).toBe(2);
  });
});

describe('a message that comes again with its key', () => {
  let other: Awaited<ReturnType<LocalMesh['start']>>;
  beforeAll(async () => {
    other = await mesh.start('gateway');
  });
  afterAll(() => other?.stop());

  const inputOf = (threadId: string, more: object) => ({
    ...{
      threadId,
      runId: `run-${threadId}`,
      messages: [],
      tools: [],
      context: [],
      state: {},
      forwardedProps: {},
    },
    ...more,
  });
  const saying = (threadId: string, content: string) =>
    inputOf(threadId, { messages: [{ id: 'm1', role: 'user', content }] });
  /** Sends an input with a key to one of the gateways. */
  const post = (at: number, key: string, input: object) =>
    fetch(`${at % 2 ? other.address : mesh.gatewayUrl}/apps/desk_app/users/ann/ag-ui`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(input),
    });
  /** Returns the frames of an answer. */
  const framesOf = async (response: Response) =>
    [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(
      ([, json = '']) => JSON.parse(json) as BaseEvent,
    );
  const eventsIn = async (session: string) => {
    const answer = await restClient(mesh.gatewayUrl).send(
      'GET',
      `/apps/desk_app/users/ann/sessions/${session}`,
    );
    return ((await answer.json()) as { events: { author: string }[] }).events;
  };
  const said = async (session: string) =>
    (await eventsIn(session)).filter(({ author }) => author === 'user').length;

  it('is one run for all requests at once, also when it makes the session', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, at) => post(at, 'k1', saying('again', 'Save note.txt'))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(new Set(answers.map(({ headers }) => headers.get('x-invocation-id'))).size).toBe(1);
    for (const answer of answers) {
      const frames = await framesOf(answer);
      expect(typesOf(frames)).toEqual([
        ...[EventType.RUN_STARTED, EventType.STATE_SNAPSHOT],
        ...[EventType.TOOL_CALL_START, EventType.TOOL_CALL_ARGS, EventType.TOOL_CALL_END],
        ...[EventType.TOOL_CALL_RESULT, EventType.STATE_DELTA],
        ...[EventType.TEXT_MESSAGE_START, EventType.TEXT_MESSAGE_CONTENT, EventType.TEXT_MESSAGE_END],
        EventType.RUN_FINISHED,
      ]);
    }
    expect(await said('again')).toBe(1);
  });

  it('is one run when the client has lost the answer, with the same messages', async () => {
    const lost = await post(0, 'k2', saying('lost', 'Tell me a story'));
    await lost.body?.cancel();
    const [first, second] = [
      await framesOf(await post(1, 'k2', saying('lost', 'Tell me a story'))),
      await framesOf(await post(0, 'k2', saying('lost', 'Tell me a story'))),
    ];
    const textOf = (frames: readonly BaseEvent[]) =>
      frames.map((frame) => ('delta' in frame ? String(frame.delta) : '')).join('');
    expect([textOf(first), textOf(second)]).toEqual(Array(2).fill('Once upon a time.'));
    const idsOf = (frames: readonly BaseEvent[]) =>
      new Set(frames.flatMap((frame) => ('messageId' in frame ? [frame.messageId] : [])));
    expect(idsOf(first)).toEqual(idsOf(second));
    expect(first.at(-1)).toMatchObject({ type: EventType.RUN_FINISHED, outcome: { type: 'success' } });
    expect(await said('lost')).toBe(1);
  });

  it('answers an interrupt once', async () => {
    const asked = await framesOf(await post(0, 'k3', saying('lunch', 'Order lunch')));
    const { outcome } = asked.at(-1) as BaseEvent & { outcome: { interrupts: Interrupt[] } };
    const [interrupt] = outcome.interrupts;
    const answer = inputOf('lunch', {
      resume: [{ interruptId: interrupt?.id, status: 'resolved', payload: { confirmed: true } }],
    });
    const lost = await post(1, 'k4', answer);
    await lost.body?.cancel();
    for (const response of await Promise.all(Array.from({ length: 6 }, (_, at) => post(at, 'k4', answer)))) {
      expect(response.status).toBe(200);
      const frames = await framesOf(response);
      expect(typesOf(frames)).toContain(EventType.TOOL_CALL_RESULT);
      expect(frames.at(-1)).toMatchObject({ type: EventType.RUN_FINISHED, outcome: { type: 'success' } });
    }
    // The question and its answer.
    expect(await said('lunch')).toBe(2);
    // The question that was asked, which the same request asks for again, is not asked again.
    const before = await framesOf(await post(1, 'k3', saying('lunch', 'Order lunch')));
    expect(before.at(-1)).toMatchObject({ type: EventType.RUN_FINISHED, outcome: { type: 'success' } });
  });

  it('answers an interrupt once for all requests at once', async () => {
    const asked = await framesOf(await post(0, 'k6', saying('dinner', 'Order lunch')));
    const { outcome } = asked.at(-1) as BaseEvent & { outcome: { interrupts: Interrupt[] } };
    const answer = inputOf('dinner', {
      resume: [{ interruptId: outcome.interrupts[0]?.id, status: 'resolved', payload: { confirmed: true } }],
    });
    const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => post(at, 'k7', answer)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    for (const response of answers)
      expect((await framesOf(response)).at(-1)).toMatchObject({
        ...{ type: EventType.RUN_FINISHED, outcome: { type: 'success' } },
      });
    expect(await said('dinner')).toBe(2);
  });

  it('is refused with another body', async () => {
    await framesOf(await post(0, 'k5', saying('other', 'Save a.txt')));
    const refused = await post(1, 'k5', saying('other', 'Save b.txt'));
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining('choose a new key'),
    ]);
    expect(await said('other')).toBe(1);
  });
});

describe('an input that cannot be served', () => {
  const send = (body: object, app = 'desk_app') =>
    restClient(mesh.gatewayUrl).send('POST', `/apps/${app}/users/ann/ag-ui`, {
      ...{ threadId: 'none', runId: 'r', tools: [], context: [], state: {} },
      messages: [{ id: 'm', role: 'user', content: 'hello' }],
      ...body,
    });

  it.each([
    [400, 'agent desk_agent has a tool of this name', { tools: [{ name: 'save_file', description: '' }] }],
    [400, 'the framework has a tool', { tools: [{ name: 'transfer_to_agent', description: '' }] }],
    [400, 'two tools are called a', { tools: ['a', 'a'].map((name) => ({ name, description: '' })) }],
    [400, '64000 characters', { context: [{ description: 'all', value: 'x'.repeat(64_000) }] }],
    [412, 'no call c', { messages: [{ id: 'm', role: 'tool', toolCallId: 'c', content: 'red' }] }],
    [400, 'role user or tool, not assistant', { messages: [{ id: 'm', role: 'assistant', content: 'hi' }] }],
    [400, 'role user or tool, not none', { messages: [] }],
    [400, 'the body', { threadId: 7 }],
    [400, 'threadId', { threadId: '' }],
    [412, 'no question x', { resume: [{ interruptId: 'x', status: 'resolved', payload: true }] }],
  ])('is refused by its name: %s %s', async (status, reason, body) => {
    const answer = await send(body);
    const { error } = (await answer.json()) as { error: string };
    expect([answer.status, error]).toEqual([status, expect.stringContaining(reason)]);
    // A request that is refused makes no session.
    const session = await restClient(mesh.gatewayUrl).send('GET', '/apps/desk_app/users/ann/sessions/none');
    expect(session.status).toBe(404);
  });

  it('is not found for an unknown app', async () => {
    expect((await send({}, 'no_app')).status).toBe(404);
  });
});
