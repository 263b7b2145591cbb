import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { withGateways } from './people.fixture.ts';

const most = { userRequests: 25, appRequests: 40, userStreams: 3, appStreams: 4 };
const services = samples.filter(({ manifest }) => ['stock_agent', 'weather_agent'].includes(manifest.name));

let mesh: LocalMesh;
let urls: string[];
beforeAll(async () => {
  const settings = {
    MESH_HTTP_AUTH: 'proxy',
    MESH_HTTP_PERSON_HEADER: 'X-User',
    MESH_HTTP_ROLES_HEADER: 'X-Roles',
    MESH_HTTP_USER_REQUESTS_PER_MINUTE: String(most.userRequests),
    MESH_HTTP_APP_REQUESTS_PER_MINUTE: `weather_app=${most.appRequests}`,
    MESH_HTTP_STREAMS_PER_USER: String(most.userStreams),
    MESH_HTTP_STREAMS_PER_APP: `stock_app=${most.appStreams},*=1`,
    MESH_WHEN_ABSENT: 'enqueue',
  };
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  mesh = await launchMesh({ services, model: 'scripted' });
  urls = [mesh.gatewayUrl, (await mesh.start('gateway')).address ?? ''];
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
});

const person = (user: string, roles?: string) => withGateways(() => urls, user, roles);
type Person = ReturnType<typeof person>;
const sessionsOf = (user: string, app = 'stock_app') => `/apps/${app}/users/${user}/sessions`;

/** Sends requests at once, in turn by these people. Returns how many were answered with each status. */
async function count(people: readonly Person[], number: number, path: (at: number) => string) {
  const answers = await Promise.all(
    Array.from({ length: number }, async (_, at) => {
      const answer = await people[at % people.length]?.('GET', path(at));
      return { status: answer?.status, text: await answer?.text(), wait: answer?.headers.get('retry-after') };
    }),
  );
  const refusals = answers.filter(({ status }) => status === 429);
  return { answered: answers.filter(({ status }) => status === 200).length, refusals };
}

describe('the requests in a minute, over two gateways', () => {
  it('of a user are those of all callers together', async () => {
    const { answered, refusals } = await count(
      [person('ann'), person('oli', 'operator'), person('ole', 'operator')],
      60,
      () => sessionsOf('ann'),
    );
    expect([answered, refusals.length]).toEqual([most.userRequests, 60 - most.userRequests]);
    expect(refusals[0]?.text).toContain(
      `${most.userRequests} requests in a minute are the most for user ann`,
    );
    expect(Number(refusals[0]?.wait)).toBeGreaterThanOrEqual(1);
    const oli = person('oli', 'operator');
    expect((await oli('GET', sessionsOf('eve'))).status).toBe(200);
    // A run names its user in the body.
    const run = {
      appName: 'stock_app',
      userId: 'ann',
      sessionId: 's',
      newMessage: { parts: [{ text: 'Hi' }] },
    };
    for (const path of ['/run', '/run_sse']) {
      const refused = await oli('POST', path, run);
      expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining('for user ann')]);
    }
  });

  it('of a user are not used up by a caller who may not act for the user', async () => {
    const stranger = person('mallory');
    const run = {
      appName: 'stock_app',
      userId: 'bob',
      sessionId: 's',
      newMessage: { parts: [{ text: 'Hi' }] },
    };
    for (let turn = 0; turn < most.userRequests; turn += 1) {
      expect((await stranger('GET', sessionsOf('bob'))).status).toBe(403);
      expect((await stranger('POST', '/run', run)).status).toBe(403);
    }
    expect((await person('bob')('GET', sessionsOf('bob'))).status).toBe(200);
  });

  it('of an app are those of all users together', async () => {
    const people = Array.from({ length: 10 }, (_, at) => person(`w${at}`));
    const { answered, refusals } = await count(people, 70, (at) =>
      sessionsOf(`w${at % people.length}`, 'weather_app'),
    );
    expect([answered, refusals.length]).toEqual([most.appRequests, 70 - most.appRequests]);
    expect(refusals[0]?.text).toContain(
      `${most.appRequests} requests in a minute are the most for app weather_app`,
    );
    expect((await person('w0')('GET', sessionsOf('w0'))).status).toBe(200);
  });
});

describe('the open runs and streams, over two gateways', () => {
  /** Begins a run whose answer stays open. */
  async function open(user: string, by: Person) {
    const { id } = (await (await by('POST', sessionsOf(user), {})).json()) as { id: string };
    const run = {
      appName: 'stock_app',
      userId: user,
      sessionId: id,
      newMessage: { parts: [{ text: 'Hi' }] },
    };
    const answer = await by('POST', '/run_sse', run);
    return { answer, close: () => answer.body?.cancel() };
  }

  it('of a user and of an app have their own numbers, and become free when clients leave', async () => {
    // Nobody answers, so the streams stay open.
    await Promise.all(mesh.processes.map((each) => each.stop()));
    onTestFinished(async () => {
      for (const service of services) await mesh.start(service);
    });
    const [max, operator, rae] = [person('max'), person('ole', 'operator'), person('rae')];
    const opened = [];
    for (const by of [max, operator, max]) opened.push(await open('max', by));
    expect(opened.map(({ answer }) => answer.status)).toEqual([200, 200, 200]);
    const tooMany = await open('max', operator);
    expect([tooMany.answer.status, await tooMany.answer.text()]).toEqual([
      429,
      expect.stringContaining(`${most.userStreams} open streams are the most for user max`),
    ]);
    expect(tooMany.answer.headers.get('retry-after')).toBe('1');
    const other = await open('rae', rae);
    expect(other.answer.status).toBe(200);
    const last = await open('tom', person('tom'));
    expect([last.answer.status, await last.answer.text()]).toEqual([
      429,
      expect.stringContaining(`${most.appStreams} open streams are the most for app stock_app`),
    ]);
    // A stream of an invocation counts too.
    const path = `${sessionsOf('rae')}/none/invocations/e-none/events`;
    expect((await rae('GET', path)).status).toBe(429);
    for (const { close } of [...opened, other]) await close();
    const again = await until(
      async () => {
        const next = await open('max', max);
        if (next.answer.status === 200) return next;
        await next.answer.text();
        return undefined;
      },
      { what: 'a free slot', intervalMs: 200 },
    );
    await again.close();
  });
});
