import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import type { InvocationState } from '@agentmesh/mesh';
import type { Event } from '@agentmesh/protocol';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';
import { comeBack, type Frame, framesOf } from '../sse-client.ts';

let model: ScriptedGemini;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
/** The address of another gateway. */
let other: string;
/** The gate for which the model's last answer waits in runs whose message says `wait`. */
let gate = Promise.withResolvers<void>();

beforeAll(async () => {
  model = await startScriptedGemini({
    script: async (request) => {
      if (latestFunctionResponses(request).length === 0) {
        return { calls: [{ name: 'get_stock_price', args: { ticker: 'GOOG' } }] };
      }
      if (JSON.stringify(request.contents).includes('wait')) await gate.promise;
      return { text: 'it stands high' };
    },
  });
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
  client = restClient(mesh.gatewayUrl);
  other = (await mesh.start('gateway')).address ?? '';
});
afterAll(async () => {
  gate.resolve();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

interface BeginOptions {
  url?: string | undefined;
  query?: string;
  runConfig?: Record<string, unknown>;
}

/** Starts a run over SSE and reads its first `count` frames, or fewer when it has no more. */
async function begin(newMessage: unknown, count: number, options: BeginOptions = {}) {
  const { url = mesh.gatewayUrl, query = '', runConfig = {} } = options;
  const session = await client.createSession('stock_app');
  const left = new AbortController();
  const body = {
    ...{ appName: 'stock_app', userId: 'u1', sessionId: session },
    ...{ newMessage, streaming: true, runConfig },
  };
  const at = restClient(url);
  const response = await at.send('POST', `/run_sse${query}`, body, left.signal);
  const id = response.headers.get('x-invocation-id') ?? '';
  const frames: Frame[] = [];
  const reader = framesOf(response);
  while (frames.length < count) {
    const { value, done } = await reader.next();
    if (done) break;
    frames.push(value);
  }
  const path = `/apps/stock_app/users/u1/sessions/${session}/invocations/${id}`;
  return { session, id, path, frames, reader, leave: () => left.abort() };
}

const idsOf = (frames: readonly Frame[]) => frames.flatMap(({ id }) => id ?? []);
const committed = (frames: readonly Frame[]) =>
  frames.filter(({ event }) => !event.partial).map(({ event }) => event);

async function storedIn(session: string): Promise<Event[]> {
  const answer = await client.send('GET', `/apps/stock_app/users/u1/sessions/${session}`);
  return ((await answer.json()) as { events: Event[] }).events;
}

async function stateOf(path: string, url = mesh.gatewayUrl): Promise<InvocationState> {
  return (await (await restClient(url).send('GET', path)).json()) as InvocationState;
}

describe('a client that comes back', () => {
  it('gets the missed events at another gateway, during the run and after its end', async () => {
    gate = Promise.withResolvers();
    const run = await begin('wait: GOOG?', 2);
    expect(idsOf(run.frames)).toEqual([2, 3]);
    run.leave();
    const middle = framesOf(await comeBack(other, run.path, 2));
    const first = (await middle.next()).value as Frame;
    expect(first.id).toBe(3);
    await until(() => model.requests.length === 2, { what: 'the second model call' });
    // The second call counts when its answer is committed.
    expect(await stateOf(run.path, other)).toEqual({
      invocationId: run.id,
      status: 'running',
      llmCalls: 1,
      lastSeq: 3,
    });
    gate.resolve();
    const rest = await Array.fromAsync(middle);
    const stored = (await storedIn(run.session)).slice(1);
    expect([...run.frames.slice(0, 1), first, ...rest].filter(({ event }) => !event.partial)).toEqual(
      stored.map((event, at) => ({ id: at + 2, event })),
    );
    expect(stored).toHaveLength(3);
    // Streamed pieces have no number.
    expect(rest.filter(({ event }) => event.partial).every(({ id }) => id === undefined)).toBe(true);
    const state = { invocationId: run.id, status: 'completed', llmCalls: 2, lastSeq: 4 };
    expect(await stateOf(run.path)).toEqual(state);

    const whole = await Array.fromAsync(framesOf(await comeBack(other, run.path)));
    expect(whole).toEqual(stored.map((event, at) => ({ id: at + 2, event })));
    const after = await fetch(`${other}${run.path}/events?after=3`);
    expect(after.headers.get('x-invocation-id')).toBe(run.id);
    expect(idsOf(await Array.fromAsync(framesOf(after)))).toEqual([4]);
    // The header is newer than the address, which an EventSource never changes.
    const both = await fetch(`${other}${run.path}/events?after=2`, { headers: { 'last-event-id': '3' } });
    expect(idsOf(await Array.fromAsync(framesOf(both)))).toEqual([4]);
    const nothing = await comeBack(other, run.path, 4);
    expect([nothing.status, await nothing.text()]).toEqual([204, '']);
  });

  it('gets only its own run when the session has others', async () => {
    const run = await begin('GOOG?', 4);
    await client.events('stock_app', run.session, 'GOOG again?');
    expect(committed(await Array.fromAsync(framesOf(await comeBack(other, run.path, 2))))).toEqual(
      (await storedIn(run.session)).slice(2, 4),
    );
  });

  it('gets every committed event once when its gateway is killed in the middle of the stream', async () => {
    gate = Promise.withResolvers();
    const doomed = await mesh.start('gateway');
    const run = await begin('wait: GOOG?', 2, { url: doomed.address });
    await doomed.kill();
    await expect(Array.fromAsync(run.reader)).rejects.toThrow();
    const back = framesOf(await comeBack(other, run.path, run.frames.at(-1)?.id));
    gate.resolve();
    const frames = [...run.frames, ...(await Array.fromAsync(back))];
    expect(committed(frames)).toEqual((await storedIn(run.session)).slice(1));
    expect(idsOf(frames)).toEqual([2, 3, 4]);
    expect(lastText(committed(frames))).toBe('it stands high');
  });

  it('gets the failure of a run', async () => {
    // The definition of the agent says that it uses no files.
    const file = { inlineData: { mimeType: 'text/csv', data: 'YSxi', displayName: 'table.csv' } };
    const run = await begin({ parts: [file] }, 9, { runConfig: { saveInputBlobsAsArtifacts: true } });
    const error = { code: 'permission_denied', message: expect.stringContaining('usesArtifacts: true') };
    expect(await stateOf(run.path)).toMatchObject({ status: 'failed', llmCalls: 0, error });
    expect(run.frames.at(-2)?.event).toMatchObject({ errorCode: 'permission_denied' });
    expect(run.frames.at(-1)).toMatchObject({ id: undefined, event: { code: 'permission_denied' } });
    const lastId = Number(run.frames.at(-2)?.id);
    const again = await Array.fromAsync(framesOf(await comeBack(other, run.path)));
    expect(again.slice(0, -1)).toEqual(run.frames.slice(0, -1));
    // The trace belongs to the request.
    const traceId = expect.stringMatching(/^[0-9a-f]{32}$/);
    expect(again.at(-1)).toEqual({ event: { ...run.frames.at(-1)?.event, traceId } });
    expect((await comeBack(other, run.path, lastId)).status).toBe(204);
  });

  it('may ask that a run is refused instead of waiting for another run of its session', async () => {
    gate = Promise.withResolvers();
    const run = await begin('wait: GOOG?', 2);
    const more = { whenBusy: 'reject' };
    const refused = await client.run('stock_app', run.session, 'GOOG?', more);
    expect([refused.status, await refused.json()]).toMatchObject([429, { code: 'resource_exhausted' }]);
    const path = run.path.replace(run.id, refused.headers.get('x-invocation-id') ?? '');
    expect(await stateOf(path)).toMatchObject({ status: 'failed', lastSeq: 0 });
    gate.resolve();
    await Array.fromAsync(run.reader);
  });

  it('does not stop the run by leaving, unless it asked for that', async () => {
    gate = Promise.withResolvers();
    const stays = await begin('wait: GOOG?', 2);
    const stops = await begin('wait: GOOG?', 2, { query: '?stop_on_disconnect=true' });
    stays.leave();
    stops.leave();
    await until(async () => (await stateOf(stops.path)).status === 'cancelled', {
      what: 'the end of the run',
    });
    expect(await stateOf(stops.path)).toMatchObject({
      error: { code: 'cancelled', message: expect.stringContaining('client') },
    });
    expect(await stateOf(stays.path)).toMatchObject({ status: 'running' });
    gate.resolve();
    const frames = await Array.fromAsync(framesOf(await comeBack(other, stays.path, 3)));
    expect(lastText(committed(frames))).toBe('it stands high');
  });

  it('may cancel the run, at any gateway', async () => {
    gate = Promise.withResolvers();
    const run = await begin('wait: GOOG?', 2);
    const answer = await restClient(other).send('POST', `${run.path}/cancel`, { reason: 'changed my mind' });
    expect([answer.status, await answer.json()]).toMatchObject([202, { invocationId: run.id }]);
    const frames = await Array.fromAsync(run.reader);
    expect(frames.at(-1)?.event).toMatchObject({ code: 'cancelled', error: 'changed my mind' });
    expect(await stateOf(run.path)).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } });
    const again = await client.send('POST', `${run.path}/cancel`);
    expect([again.status, await again.json()]).toMatchObject([202, { status: 'cancelled' }]);
    gate.resolve();
  });

  it('may cancel the run several times at once: one reason is in all answers, in the stream and in the record', async () => {
    gate = Promise.withResolvers();
    const run = await begin('wait: GOOG?', 2);
    const answers = await Promise.all(
      ['one', 'two', 'three', 'four'].map(async (reason, turn) => {
        const at = turn % 2 ? client : restClient(other);
        return (await (await at.send('POST', `${run.path}/cancel`, { reason })).json()) as InvocationState;
      }),
    );
    const frames = await Array.fromAsync(run.reader);
    const { cancelled, error } = await stateOf(run.path);
    expect(['one', 'two', 'three', 'four']).toContain(cancelled);
    expect(error).toEqual({ code: 'cancelled', message: cancelled });
    expect(answers.map((answer) => answer.cancelled)).toEqual(answers.map(() => cancelled));
    expect(frames.at(-1)?.event).toMatchObject({ code: 'cancelled', error: cancelled });
    gate.resolve();
  });

  it.each<[string, (path: string) => Promise<Response>, number, RegExp]>([
    ['a number above all', (path) => comeBack(other, path, 9_999), 400, /has \d+ events.*last event/],
    ['a number that is none', (path) => comeBack(other, path, 'last'), 400, /last-event-id.*whole number/],
    ['a negative number', (path) => fetch(`${other}${path}/events?after=-1`), 400, /after.*whole number/],
    ['a fraction', (path) => fetch(`${other}${path}/events?after=1.5`), 400, /after.*whole number/],
    ['an empty number', (path) => fetch(`${other}${path}/events?after=`), 400, /after.*whole number/],
    ['two numbers', (path) => fetch(`${other}${path}/events?after=1&after=2`), 400, /after.*once/],
    ['an endless number', (path) => comeBack(other, path, '9'.repeat(99)), 400, /whole number/],
    [
      'an unknown invocation',
      (path) => comeBack(other, `${path}x`),
      404,
      /nothing of an invocation.*ask again/,
    ],
    [
      'one that nobody knows',
      (path) => fetch(`${other}${path}x`),
      404,
      /nothing of an invocation.*ask again/,
    ],
    [
      "another user's session",
      (path) => comeBack(other, path.replace('/u1/', '/u2/')),
      404,
      /no session.*u2/,
    ],
    [
      "the state of another's",
      (path) => fetch(`${other}${path.replace('/u1/', '/u2/')}`),
      404,
      /no session.*u2/,
    ],
    ['an app that is none', (path) => comeBack(other, path.replace('stock_app', 'nope')), 404, /no app nope/],
    [
      'a cancellation of what is not there',
      (path) => fetch(`${other}${path.replace('/u1/', '/u2/')}/cancel`, { method: 'POST' }),
      404,
      /no session.*u2/,
    ],
    [
      'a wish that is none',
      () => client.send('POST', '/run_sse?stop_on_disconnect=maybe', {}),
      400,
      /stopOnDisconnect.*true or false/,
    ],
    [
      'a page without an end',
      (path) => fetch(`${other}${path.split('/inv')[0]}/events?limit=0`),
      400,
      /limit/,
    ],
  ])('gets a clear error for %s', async (_what, send, status, words) => {
    const { path } = await begin('GOOG?', 4);
    const answer = await send(path);
    expect(await answer.json()).toMatchObject({ error: expect.stringMatching(words) });
    expect(answer.status).toBe(status);
  });
});
