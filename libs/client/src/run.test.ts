import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MeshClient } from './client.ts';
import { MeshClientError } from './client-error.ts';
import { textOf } from './data.ts';
import { answering, fresh, headers, json, piece, state, stored, stream } from './gateway.fixture.ts';
import type { Run, RunOptions } from './index.ts';

const ref = { app: 'shop', user: 'ann', session: 's1' };
const run = '/apps/shop/users/ann/sessions/s1/invocations/e-1';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Reads a run while time flies; returns the texts with their numbers, and the error at the end. */
async function read(starting: Promise<Run> | Run) {
  const seen: string[] = [];
  const reading = (async () => {
    const began = await starting;
    for await (const { event, seq } of began) seen.push(`${seq ?? '-'} ${textOf(event)}`);
  })().catch((error: unknown) => error);
  for (let turn = 0; turn < 200; turn += 1) await vi.advanceTimersByTimeAsync(1_000);
  return { seen, error: await reading };
}

function begin(gateway: ReturnType<typeof answering>, options: RunOptions = {}, giveUpMs = 60_000) {
  const client = new MeshClient({ url: 'http://gateway', fetch: gateway.fetch, giveUpMs });
  return client.run(ref, 'hello', options);
}

it('reads pieces and numbered events until the run is over', async () => {
  const text = [piece('It'), piece('It is'), fresh(2, 'It is so'), fresh(3, 'Bye')].join('');
  // Chunks end anywhere, also within a character and within a line break.
  const cut = [...text.replaceAll('\n', '\r\n')];
  const gateway = answering(stream(cut, 'end', headers), state('completed', 3));
  expect(await read(begin(gateway))).toEqual({
    seen: ['- It', '- It is', '2 It is so', '3 Bye'],
    error: undefined,
  });
  expect(gateway.asked[0]).toMatchObject({
    ...{ method: 'POST', path: '/run_sse' },
    body: { appName: 'shop', newMessage: { role: 'user', parts: [{ text: 'hello' }] }, streaming: true },
  });
  gateway.expectAllGiven();
});

it.each(['break', 'end', 'silence'] as const)(
  'comes back after a connection with the end %s, and gets each event once',
  async (end) => {
    // The event 3 came without its number, so it comes again; the gateway repeats the event 2.
    const torn = fresh(3, 'b').split('id:')[0] ?? '';
    const first = stream([fresh(2, 'a'), torn, piece('lost')], end, headers);
    const judged = end === 'end' ? [state('running', 3)] : [];
    const gateway = answering(
      first,
      ...judged,
      ...[new TypeError('fetch failed'), json({ error: 'stopping', code: 'unavailable' }, 503)],
      stream([stored(2, 'a'), stored(3, 'b'), stored(4, 'c')]),
      state('completed', 4),
    );
    const states: string[] = [];
    const found = await read(begin(gateway, { onConnection: (each) => states.push(each) }));
    expect(found).toEqual({ seen: ['2 a', '- lost', '3 b', '4 c'], error: undefined });
    expect(states).toEqual(['lost', 'restored']);
    const back = gateway.asked.at(-2);
    expect([back?.path, back?.headers.get('last-event-id')]).toEqual([`${run}/events`, '2']);
    gateway.expectAllGiven();
  },
);

it('waits for a run that no replica has taken yet', async () => {
  const gateway = answering(
    stream([], 'break', headers),
    json({ error: 'not yet', code: 'not_found' }, 404),
    stream([stored(2, 'a')]),
    state('completed', 2),
  );
  expect(await read(begin(gateway))).toEqual({ seen: ['2 a'], error: undefined });
});

it('throws the failure of a run', async () => {
  const frame = { error: 'no money', code: 'failed_precondition', traceId: 't', invocationId: 'e-1' };
  const gateway = answering(stream([fresh(2, 'a'), `data: ${JSON.stringify(frame)}\n\n`], 'end', headers));
  const { seen, error } = await read(begin(gateway));
  expect([seen, error]).toEqual([['2 a'], expect.any(MeshClientError)]);
  expect(error).toMatchObject({ ...{ message: 'no money', code: 'failed_precondition' }, traceId: 't' });
});

it('throws a failure whose frame was lost', async () => {
  const failed = { error: { code: 'deadline_exceeded', message: 'too late' } };
  const gateway = answering(
    stream([fresh(2, 'a')], 'break', headers),
    new Response(null, { status: 204 }),
    state('failed', 2, failed),
  );
  const { error } = await read(begin(gateway));
  expect(error).toMatchObject({ code: 'deadline_exceeded', message: 'too late', status: undefined });
});

it('comes back after a frame that says that the gateway stops', async () => {
  const frame = `data: ${JSON.stringify({ error: 'this gateway stops', code: 'unavailable' })}\n\n`;
  const gateway = answering(
    ...[stream([fresh(2, 'a'), frame], 'end', headers), state('running', 2)],
    ...[stream([stored(3, 'b')]), state('completed', 3)],
  );
  expect(await read(begin(gateway))).toEqual({ seen: ['2 a', '3 b'], error: undefined });
});

it('gives up when no gateway answers for a time, and says where to go on', async () => {
  const away = Array.from({ length: 100 }, () => new TypeError('fetch failed'));
  const gateway = answering(stream([fresh(7, 'a')], 'break', headers), ...away);
  const starting = begin(gateway, {}, 30_000);
  const { error } = await read(starting);
  expect(error).toMatchObject({ code: 'unavailable' });
  expect((await starting).lastSeq).toBe(7);
  expect(gateway.asked.length).toBeLessThan(15);
});

it('waits as long as the gateway says', async () => {
  const busy = json({ error: 'busy', code: 'resource_exhausted' }, 429, { 'retry-after': '20' });
  const times: number[] = [];
  const note = (answer: Response) => () => {
    times.push(Date.now());
    return answer;
  };
  const gateway = answering(
    ...[stream([fresh(2, 'a')], 'break', headers), note(busy)],
    note(new Response(null, { status: 204 })),
    state('completed', 2),
  );
  expect((await read(begin(gateway))).error).toBeUndefined();
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(20_000);
});

it('ends with the reason of its signal, also in a pause', async () => {
  const abort = new AbortController();
  const gateway = answering(stream([fresh(2, 'a')], 'break', headers), () => {
    setTimeout(() => abort.abort(new Error('enough')), 50);
    return new TypeError('fetch failed');
  });
  const { error } = await read(begin(gateway, { signal: abort.signal }));
  expect(error).toEqual(new Error('enough'));
  expect(gateway.asked).toHaveLength(2);
});

it('sends a message again whose answer was lost, with the same key', async () => {
  const lost = [new TypeError('fetch failed'), json({}, 502)];
  const gateway = answering(...lost, stream([fresh(2, 'a')], 'end', headers), state('completed', 2));
  const beginning = begin(gateway);
  await vi.advanceTimersByTimeAsync(10_000);
  expect((await (await beginning).rest()).map(textOf)).toEqual(['a']);
  const sent = gateway.asked.slice(0, 3);
  expect(sent.map(({ body }) => body)).toEqual(Array(3).fill(sent[0]?.body));
  const keys = sent.map((each) => each.headers.get('idempotency-key'));
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(new Set(keys).size).toBe(1);
});

it('does not send a message again that a gateway has refused', async () => {
  const gateway = answering(json({ error: 'nobody is up', code: 'unavailable' }, 503));
  await expect(begin(gateway)).rejects.toMatchObject({ code: 'unavailable', status: 503 });
  expect(gateway.asked).toHaveLength(1);
});

it('says what is wrong when a page may not read the invocation', async () => {
  await expect(begin(answering(stream([])))).rejects.toThrow('MESH_HTTP_CORS_ORIGINS');
});

it('is read once', async () => {
  const began = await begin(answering(stream([fresh(2, 'a')], 'end', headers), state('completed', 2)));
  expect((await began.rest()).map(textOf)).toEqual(['a']);
  await expect(began.rest()).rejects.toThrow('read once');
});

it('is cancelled as soon as a replica has taken it', async () => {
  const untaken = () => json({ error: 'not begun', code: 'not_found' }, 404);
  const gateway = answering(stream([], 'silence', headers), untaken(), untaken(), state('running', 0));
  const began = await begin(gateway);
  const cancelling = began.cancel({ reason: 'enough' });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await cancelling).toMatchObject({ status: 'running' });
  expect(gateway.asked.at(-1)).toMatchObject({
    ...{ method: 'POST', path: `${run}/cancel` },
    body: { reason: 'enough' },
  });
});
