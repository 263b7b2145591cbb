import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';

const app = 'stock_app';
const limits = { requests: 40, runs: 6, streams: 3 };

let mesh: LocalMesh;
let urls: string[];
beforeAll(async () => {
  const settings = {
    MESH_HTTP_AUTH: 'proxy',
    MESH_HTTP_PERSON_HEADER: 'X-User',
    MESH_HTTP_REQUESTS_PER_MINUTE: String(limits.requests),
    MESH_HTTP_RUNS_PER_MINUTE: String(limits.runs),
    MESH_HTTP_STREAMS_PER_CALLER: String(limits.streams),
    MESH_HTTP_CORS_ORIGINS: 'https://chat.example',
    MESH_WHEN_ABSENT: 'enqueue',
  };
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    model: 'scripted',
  });
  urls = [mesh.gatewayUrl, (await mesh.start('gateway')).address ?? ''];
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
});

/** Sends requests of a person to the gateways in turn. */
function person(user: string) {
  let turn = 0;
  return async (method: string, path: string, body?: unknown, signal?: AbortSignal) =>
    await fetch(`${urls[turn++ % urls.length]}${path}`, {
      method,
      headers: {
        ...{ 'x-user': user, origin: 'https://chat.example' },
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
}

const runOf = (user: string) => ({
  ...{ appName: app, userId: user, sessionId: 's' },
  newMessage: { parts: [{ text: 'What is the price of GOOG?' }] },
});

describe('the limits of a caller', () => {
  it('are exact over two gateways, and say when to come back', async () => {
    const send = person('ann');
    const answers = await Promise.all(Array.from({ length: 120 }, () => send('GET', '/list-apps')));
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(limits.requests);
    expect(refused).toHaveLength(120 - limits.requests);
    const wait = Number(refused[0]?.headers.get('retry-after'));
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(120);
    expect(await refused[0]?.json()).toMatchObject({
      ...{ code: 'resource_exhausted', details: { retryAfterMs: expect.any(Number) } },
      error: expect.stringContaining(`${limits.requests} requests in a minute`),
    });
    expect((await person('eve')('GET', '/list-apps')).status).toBe(200);
    expect((await fetch(`${urls[0]}/health`)).status).toBe(200);
  });

  it('count runs, and requests without credentials by their address', async () => {
    const send = person('rae');
    await send('POST', `/apps/${app}/users/rae/sessions/s`, {});
    const statuses: number[] = [];
    for (let count = 0; count < limits.runs + 2; count += 1) {
      const response = await send('POST', '/run', runOf('rae'));
      await response.text();
      statuses.push(response.status);
    }
    expect(statuses).toEqual([...Array(limits.runs).fill(200), 429, 429]);
    const unknown = await Promise.all(Array.from({ length: 60 }, () => fetch(`${urls[0]}/list-apps`)));
    const seen = Map.groupBy(unknown, ({ status }) => status);
    expect([seen.get(401)?.length, seen.get(429)?.length]).toEqual([limits.requests, 60 - limits.requests]);
  });

  it('hold for open streams, which become free when clients leave', async () => {
    const send = person('max');
    await send('POST', `/apps/${app}/users/max/sessions/s`, {});
    // Nobody answers, so the streams stay open.
    await Promise.all(mesh.processes.map((each) => each.stop()));
    onTestFinished(async () => {
      for (const sample of samples.filter(({ manifest }) => manifest.name === 'stock_agent'))
        await mesh.start(sample);
    });
    const leave = new AbortController();
    const opened = await Promise.all(
      Array.from({ length: limits.streams }, () => send('POST', '/run_sse', runOf('max'), leave.signal)),
    );
    expect(opened.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(opened[0]?.headers.get('access-control-allow-origin')).toBe('https://chat.example');
    expect(opened[0]?.headers.get('x-content-type-options')).toBe('nosniff');
    const tooMany = await send('POST', '/run_sse', runOf('max'));
    expect([tooMany.status, await tooMany.text()]).toEqual([429, expect.stringContaining('3 open streams')]);
    leave.abort();
    const reopened = await until(
      async () => {
        const response = await send('GET', `/apps/${app}/users/max/sessions/s/invocations/none/events`);
        await response.text();
        // The stream is admitted; the invocation does not exist.
        return response.status === 404;
      },
      { what: 'a free slot', intervalMs: 200 },
    );
    expect(reopened).toBe(true);
  });
});
