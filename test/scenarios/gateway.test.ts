import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { json } from 'node:stream/consumers';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import type { Event } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';
import { adkEventsOf } from '../sse-client.ts';

let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
const only = samples.filter(({ manifest }) => ['stock_agent', 'support_agent'].includes(manifest.name));

beforeAll(async () => {
  mesh = await launchMesh({ services: only, model: 'scripted' });
  client = restClient(mesh.gatewayUrl);
});
afterAll(() => mesh?.[Symbol.asyncDispose]());

const sessions = '/apps/stock_app/users/u1/sessions';

async function answerOf(response: Response) {
  return { status: response.status, body: (await response.json()) as { error: string; code: string } };
}

/**
 * Tells whether a run is refused. A run that still got into the queue of the dead replica waits there; then
 * the next run is tried.
 */
async function isRefused(session: string): Promise<boolean> {
  const body = { appName: 'stock_app', userId: 'u1', sessionId: session, newMessage: 'Price of GOOG?' };
  try {
    return (await client.send('POST', '/run', body, AbortSignal.timeout(5_000))).status === 503;
  } catch {
    return false;
  }
}

describe('the gateway', () => {
  it('rewinds and copies a session, and makes a session from events', async () => {
    const [, ids] = [await client.send('POST', `${sessions}/back`, {}), [] as string[]];
    for (const ticker of ['GOOG', 'MSFT']) {
      const [first] = await client.events('stock_app', 'back', `Price of ${ticker}?`);
      ids.push(first?.invocationId ?? '');
    }
    const copied = await client.send('POST', `${sessions}/back/fork`, { beforeInvocationId: ids[1] });
    const copy = (await copied.json()) as { id: string; events: Event[] };
    expect(copy.events).toHaveLength(4);
    expect(lastText(await client.events('stock_app', copy.id, 'Price of NVDA?'))).toContain('NVDA');
    const rewound = await client.send('POST', `${sessions}/back/rewind`, {
      rewind_before_invocation_id: ids[1],
    });
    expect(((await rewound.json()) as { events: Event[] }).events).toHaveLength(9);
    expect(await answerOf(await client.send('POST', `${sessions}/back/rewind`, {}))).toMatchObject({
      status: 400,
    });
    const recent = await client.send('GET', `${sessions}/back?numRecentEvents=1`);
    expect(((await recent.json()) as { events: Event[] }).events).toHaveLength(1);
    const old = copy.events.map((event) => ({ ...event, timestamp: event.timestamp / 1_000 }));
    const made = await client.send('POST', sessions, { sessionId: 'made', state: { a: 1 }, events: old });
    expect(await made.json()).toMatchObject({ id: 'made', state: { a: 1 }, events: copy.events });
    const named = await client.send('POST', `${sessions}/named`, { state: { a: 1 }, events: old });
    expect(await named.json()).toMatchObject({ id: 'named', state: { a: 1 }, events: copy.events });
  });

  it('accepts queries in both spellings, and refuses unknown fields', async () => {
    const session = `${sessions}/${await client.createSession('stock_app')}`;
    await client.send('PATCH', session, { stateDelta: { a: 1 } });
    await client.send('PATCH', session, { stateDelta: { a: 2 } });
    const recent = await client.send('GET', `${session}?num_recent_events=1`);
    expect(((await recent.json()) as { events: Event[] }).events).toHaveLength(1);
    const wrong: [path: string, words: RegExp][] = [
      [`${session}?numRecentEvents=x`, /numRecentEvents: must be a whole number/],
      [`${session}?numRecentEvents=`, /must be a whole number/],
      [`${session}?recent=1`, /"recent"/],
      [`${sessions}?limit=0`, /limit: must be 1 to 1000/],
      [`${sessions}?page=2`, /"page"/],
      [`${session}/events?limit=1001`, /limit: must be 1 to 1000/],
      [`${session}/events?from=2`, /"from"/],
      [`${session}/invocations/e-1/events?since=2`, /"since"/],
      ['/apps/stock_app/users/u1/memory?q=tea', /"q"/],
    ];
    for (const [path, words] of wrong)
      expect(await answerOf(await client.send('GET', path))).toMatchObject({
        status: 400,
        body: { error: expect.stringMatching(words) },
      });
    for (const [path, words] of [
      [`${session}/fork`, /"beforeInvocation"/],
      [`${session}/rewind`, /"beforeInvocation"/],
    ] as const)
      expect(await answerOf(await client.send('POST', path, { beforeInvocation: 'e-1' }))).toMatchObject({
        status: 400,
        body: { error: expect.stringMatching(words) },
      });
    const stopped = await client.send('POST', '/run_sse?stopOnDisconect=true', {});
    expect(await answerOf(stopped)).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/"stopOnDisconect"/) },
    });
  });

  it('reports whether it is ready', async () => {
    const health = await client.send('GET', '/health');
    expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }]);
  });

  it('refuses a request for another host name', async () => {
    const { port } = new URL(mesh.gatewayUrl);
    const sent = request({ port, path: '/list-apps', headers: { host: 'evil.example' } }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect([response.statusCode, await json(response)]).toMatchObject([
      403,
      { code: 'permission_denied', error: expect.stringContaining('MESH_HTTP_ALLOWED_HOSTS') },
    ]);
  });

  it('refuses the export of a user id that is too long', async () => {
    const path = `/apps/stock_app/users/${'u'.repeat(97)}/export`;
    expect(await answerOf(await client.send('GET', path))).toMatchObject({
      status: 400,
      body: { code: 'invalid_argument', error: expect.stringContaining('96') },
    });
  });

  it('streams to a client that reads only blocks that begin with data, like those of ADK', async () => {
    const session = await client.createSession('stock_app');
    const body = { appName: 'stock_app', userId: 'u1', sessionId: session, newMessage: 'Price of GOOG?' };
    const told = await Array.fromAsync(adkEventsOf(await client.send('POST', '/run_sse', body)));
    const stored = (await (await client.send('GET', `${sessions}/${session}`)).json()) as { events: Event[] };
    expect(told).toEqual(stored.events.slice(1));
  });

  it('tells errors of a run as a frame to a client that reads events, and as JSON to others', async () => {
    const body = JSON.stringify({ appName: 'stock_app', userId: 'u1', sessionId: 'none', newMessage: 'hi' });
    const send = (accept: string) =>
      fetch(`${mesh.gatewayUrl}/run_sse`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept },
        body,
      });
    const frames = await send('text/event-stream');
    expect([frames.status, frames.headers.get('content-type')]).toEqual([404, 'text/event-stream']);
    expect(await Array.fromAsync(adkEventsOf(frames))).toEqual([
      {
        error: expect.stringContaining('none'),
        code: 'not_found',
        traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      },
    ]);
    expect(await answerOf(await send('*/*'))).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  it('lists the apps that have a root agent', async () => {
    expect(await (await client.send('GET', '/list-apps')).json()).toEqual(['stock_app']);
  });

  it('creates, gets, lists, changes and deletes sessions', async () => {
    const created = await client.send('POST', `${sessions}/mine`, { state: { a: 1, 'user:b': 2 } });
    expect(await created.json()).toMatchObject({
      id: 'mine',
      appName: 'stock_app',
      userId: 'u1',
      events: [],
    });
    const read = await client.send('GET', `${sessions}/mine`);
    const { lastUpdateTime } = (await read.json()) as { lastUpdateTime: number };
    expect(Math.abs(lastUpdateTime - Date.now() / 1_000)).toBeLessThan(60);
    const patched = await client.send('PATCH', `${sessions}/mine`, { state_delta: { a: 3 } });
    expect(await patched.json()).toMatchObject({ state: { a: 3, 'user:b': 2 } });
    const list = (await (await client.send('GET', sessions)).json()) as { id: string }[];
    expect(list.map(({ id }) => id)).toContain('mine');
    const deleted = await client.send('DELETE', `${sessions}/mine`);
    expect([deleted.status, await deleted.json()]).toEqual([200, null]);
    expect(await answerOf(await client.send('GET', `${sessions}/mine`))).toMatchObject({
      status: 404,
      body: { code: 'not_found', error: expect.stringContaining('mine') },
    });
  });

  it('understands snake_case and camelCase alike', async () => {
    const session = await client.createSession('stock_app');
    const response = await client.send('POST', '/run', {
      app_name: 'stock_app',
      user_id: 'u1',
      session_id: session,
      new_message: { role: 'user', parts: [{ text: 'Price of NVDA?' }] },
    });
    expect(lastText((await response.json()) as Event[])).toBe('NVDA stands at $138.2.');
  });

  it('lists sessions in the form that every ADK client reads, the total beside it (ADK defect B12)', async () => {
    const before = Number((await client.send('GET', sessions)).headers.get('x-total-count'));
    const ids = [await client.createSession('stock_app'), await client.createSession('stock_app')];
    const response = await client.send('GET', `${sessions}?limit=1`);
    expect(await response.json()).toMatchObject([{ id: expect.any(String), events: [] }]);
    expect(response.headers.get('x-total-count')).toBe(String(before + 2));
    const all = (await (await client.send('GET', sessions)).json()) as { id: string }[];
    expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
  });

  it("understands the snake_case bodies of ADK's documents on every route (ADK defect B12)", async () => {
    const named = { session_id: 'snake', state: { some_key: 1, 'user:other_key': { deep_key: 2 } } };
    const created = await client.send('POST', sessions, named);
    expect(await created.json()).toMatchObject({ id: 'snake', state: named.state });
    const patched = await client.send('PATCH', `${sessions}/snake`, { state_delta: { some_key: 3 } });
    expect(await patched.json()).toMatchObject({ state: { some_key: 3 } });
    const answer = await client.send('POST', '/run_sse', {
      app_name: 'stock_app',
      user_id: 'u1',
      session_id: 'snake',
      new_message: { role: 'user', parts: [{ text: 'Price of NVDA?' }] },
      state_delta: { said_by: 'snake' },
    });
    expect(await answer.text()).toContain('NVDA stands at $138.2.');
    const stored = (await (await client.send('GET', `${sessions}/snake`)).json()) as { events: Event[] };
    expect(stored).toMatchObject({ state: { some_key: 3, said_by: 'snake', 'user:last_ticker': 'NVDA' } });
    // The state may also be the whole body, as in ADK's Python server. Its keys stay unchanged.
    const raw = await client.send('POST', `${sessions}/snake2`, { plain_key: 1 });
    expect(await raw.json()).toMatchObject({ id: 'snake2', state: { plain_key: 1 } });
  });

  it.each(['', '/dev'])('draws the graph of an event, below "%s" too (ADK defect B12)', async (prefix) => {
    const session = await client.createSession('stock_app');
    await client.events('stock_app', session, 'Price of NVDA?');
    const stored = (await (await client.send('GET', `${sessions}/${session}`)).json()) as { events: Event[] };
    const graphs = stored.events.map(async ({ id }) => {
      // Like ADK's page, the request does not encode the id, although it may hold slashes.
      const response = await client.send('GET', `${prefix}${sessions}/${session}/events/${id}/graph`);
      return ((await response.json()) as { dotSrc: string }).dotSrc;
    });
    const [message, call, result] = await Promise.all(graphs);
    expect(message).toContain('"stock_agent" -> "get_stock_price" [color="#cccccc"');
    expect(call).toContain('"stock_agent" -> "get_stock_price" [color="#69CB87"]');
    expect(result).toContain('"stock_agent" -> "get_stock_price" [color="#69CB87", dir="back"]');
    const graph = (path: string) => client.send('GET', `${prefix}${sessions}/${path}`);
    expect(await (await graph(`${session}/events/nope/graph`)).json()).toEqual({});
    expect((await graph('nope/events/e/graph')).status).toBe(404);
    expect((await graph(`${session}/events/e/other`)).status).toBe(404);
  });

  it.each<[string, () => Promise<Response>, number, string, RegExp]>([
    [
      'JSON that is none',
      () => client.send('POST', '/run', '{"appName": '),
      400,
      'invalid_argument',
      /not JSON/,
    ],
    [
      'a body without its fields',
      () => client.send('POST', '/run', {}),
      400,
      'invalid_argument',
      /appName is missing.*newMessage is missing/,
    ],
    [
      'a misspelled field',
      () => client.run('stock_app', 's', 'hi', { sesionId: 's', newMessage: { parts: [{ txt: 'hi' }] } }),
      400,
      'invalid_argument',
      /"sesionId" is not known; did you mean sessionId\?; .*did you mean newMessage.parts.0.text\?/,
    ],
    [
      'a misspelled field beside one that is right',
      () => client.send('PATCH', `${sessions}/s`, { stateDelta: {}, stateDleta: {} }),
      400,
      'invalid_argument',
      /"stateDleta" is not known; did you mean stateDelta\?/,
    ],
    [
      'an empty part',
      () => client.run('stock_app', 's', '', { newMessage: { parts: [{}] } }),
      400,
      'invalid_argument',
      /empty part/,
    ],
    [
      'an address that is none',
      () => client.send('GET', `${sessions}/%zz`),
      400,
      'invalid_argument',
      /address/,
    ],
    [
      'a body that is no JSON by its header',
      () => fetch(`${mesh.gatewayUrl}/run`, { method: 'POST', body: '{}' }),
      415,
      'invalid_argument',
      /content-type/,
    ],
    [
      'a session with events',
      () => client.send('POST', sessions, { events: [{}] }),
      400,
      'invalid_argument',
      /events/,
    ],
    ['an unknown app', () => client.run('nope', 's', 'hi'), 404, 'not_found', /no app nope.*stock_app/],
    ['an unknown session', () => client.run('stock_app', 'nope', 'hi'), 404, 'not_found', /no session nope/],
    ['an unknown route', () => client.send('GET', '/nope'), 404, 'not_found', /no GET \/nope/],
    [
      'a session id in use',
      async () => client.send('POST', `${sessions}/${await client.createSession('stock_app')}`, {}),
      409,
      'already_exists',
      /exists|in use|already/,
    ],
    [
      'a session id that cannot be a key',
      () => client.send('GET', `${sessions}/${'x'.repeat(200)}`),
      400,
      'invalid_argument',
      /too long/,
    ],
    [
      'a message without parts',
      () => client.run('stock_app', 's', '', { newMessage: { role: 'user', parts: [] } }),
      400,
      'invalid_argument',
      /no parts/,
    ],
    [
      'a forged function call',
      () => client.run('stock_app', 's', '', { newMessage: { parts: [{ functionCall: { name: 'x' } }] } }),
      400,
      'invalid_argument',
      /function call/,
    ],
    [
      'the same over SSE',
      () => client.send('POST', '/run_sse', { appName: 'nope' }),
      400,
      'invalid_argument',
      /userId/,
    ],
    [
      'an unknown app over SSE',
      () =>
        client.send('POST', '/run_sse', { appName: 'nope', userId: 'u', sessionId: 's', newMessage: 'hi' }),
      404,
      'not_found',
      /no app/,
    ],
  ])('answers %s with a clear error', async (_what, send, status, code, words) => {
    const answer = await answerOf(await send());
    expect(answer).toMatchObject({ status, body: { code, error: expect.stringMatching(words) } });
  });

  it('refuses to save the files of a message for an agent without rights on files', async () => {
    const file = { inline_data: { mime_type: 'text/csv', data: 'YSxi', display_name: 'table.csv' } };
    const session = await client.createSession('stock_app');
    const answer = await client.run('stock_app', session, '', {
      newMessage: { parts: [file] },
      run_config: { save_input_blobs_as_artifacts: true },
    });
    const error = expect.stringContaining('usesArtifacts: true');
    expect(await answerOf(answer)).toMatchObject({ status: 403, body: { code: 'permission_denied', error } });
  });

  it('lets a client make the tool calls itself', async () => {
    const session = await client.createSession('stock_app');
    const runConfig = { run_config: { pause_on_tool_calls: true } };
    const [asked, ...more] = await client.events('stock_app', session, 'Price of NVDA?', runConfig);
    expect(more).toEqual([]);
    const call = asked?.content?.parts?.[0]?.functionCall;
    const response = { status: 'success', ticker: 'NVDA', price: 1 };
    const functionResponse = { id: call?.id, name: call?.name, response };
    const answer = await client.run('stock_app', session, '', {
      newMessage: { parts: [{ functionResponse }] },
    });
    expect(answer.headers.get('x-invocation-id')).toMatch(/^e-/);
    expect(lastText((await answer.json()) as Event[])).toBe('NVDA stands at $1.');
  });

  it('lets a client lower the limits of a run, not raise them', async () => {
    const session = await client.createSession('stock_app');
    const once = { runConfig: { maxLlmCalls: 1 } };
    const events = await client.events('stock_app', session, 'Price of NVDA?', once);
    expect(events.map(({ errorCode }) => errorCode)).toEqual([undefined, undefined, 'resource_exhausted']);
    for (const max_llm_calls of [0, -1, 501, 1.5, '3']) {
      const answer = await client.run('stock_app', session, 'hi', { run_config: { max_llm_calls } });
      expect(await answerOf(answer)).toMatchObject({
        status: 400,
        body: { error: expect.stringMatching(/maxLlmCalls: may be 1 to 500/) },
      });
    }
  });

  it('stops at once when its connections have nothing to do', async () => {
    const gateway = await mesh.start('gateway');
    const { hostname, port } = new URL(gateway.address ?? '');
    // Browsers open some connections ahead of their requests.
    const unused = connect(Number(port), hostname);
    await once(unused, 'connect');
    await fetch(`${gateway.address}/version`);
    expect(await gateway.stop()).toBe(0);
  }, 10_000);

  it('refuses a body that is too large before it is sent', async () => {
    const { port } = new URL(mesh.gatewayUrl);
    const headers = { 'content-type': 'application/json', 'content-length': 11_000_000 };
    const sent = request({ port, host: '127.0.0.1', path: '/run', method: 'POST', headers });
    sent.flushHeaders();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(413);
    expect(await json(response)).toMatchObject({ error: expect.stringContaining('MESH_BODY_LIMIT') });
    sent.destroy();
  });

  it('answers 503 while no replica of the agent is up, and works again afterwards', async () => {
    const session = await client.createSession('stock_app');
    const stock = mesh.processes.find(({ name }) => name === 'stock_agent');
    await stock?.kill();
    await until(() => isRefused(session), { what: 'the gateway to say that nobody is there' });
    const [sample] = only;
    if (!sample) throw new Error('no sample');
    await mesh.start(sample);
    await until(async () => (await client.run('stock_app', session, 'Price of GOOG?')).status === 200, {
      what: 'the new replica to answer',
    });
  });

  it('lets several gateways serve the same sessions', async () => {
    const second = restClient((await mesh.start('gateway')).address ?? '');
    const session = await client.createSession('stock_app');
    await client.events('stock_app', session, 'Price of GOOG?');
    const events = await second.events('stock_app', session, 'Price of MSFT?');
    expect(lastText(events)).toBe('MSFT stands at $415.7.');
    const stored = (await (await client.send('GET', `${sessions}/${session}`)).json()) as { events: Event[] };
    expect(stored.events).toHaveLength(8);
  });

  it('lets a run go on whose client has left (ADK defect B13)', async () => {
    const session = await client.createSession('stock_app');
    const left = new AbortController();
    const body = { appName: 'stock_app', userId: 'u1', sessionId: session, newMessage: 'Price of AAPL?' };
    const response = await client.send('POST', '/run_sse', body, left.signal);
    expect(response.headers.get('x-invocation-id')).toMatch(/^e-/);
    left.abort();
    await until(
      async () => {
        const stored = await client.send('GET', `${sessions}/${session}`);
        return lastText(((await stored.json()) as { events: Event[] }).events) === 'AAPL stands at $231.1.';
      },
      { what: 'the run to end without its client' },
    );
  });
});
