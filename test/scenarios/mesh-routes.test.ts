import { connectNats } from '@agentmesh/bus';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restClient } from '../rest-client.ts';

const used = [
  ...['customer_agent', 'support_agent', 'weather_agent', 'get_weather'],
  ...['time_off_agent', 'reimbursement_agent', 'ask_for_approval', 'reimburse'],
];
const services = samples.filter(({ manifest }) => used.includes(manifest.name));
const names = subjects();
let mesh: LocalMesh;

beforeAll(async () => {
  mesh = await launchMesh({ services, model: 'scripted' });
}, 60_000);
afterAll(() => mesh?.[Symbol.asyncDispose]());

interface Replica {
  replica: string;
  version: string;
  since: number;
  requests: number;
  work: number;
  errors: number;
  calls: object[];
}
interface Service {
  name: string;
  replicas: Replica[];
  queue: object;
  calls: object[];
  ownTools: string[];
}
interface Run {
  invocationId: string;
  status: string;
}
interface Bar {
  id: string;
  parent?: string;
  kind: string;
  name: string;
  from: number;
  to?: number;
  replicas: string[];
}

async function get<T>(path: string): Promise<T> {
  const answer = await fetch(`${mesh.gatewayUrl}${path}`);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}
const map = () =>
  get<{ agents: Service[]; tools: Service[]; gateways: Replica[]; deadLetters: number }>('/mesh');
const runs = async (query = '') =>
  await get<{
    runs: { invocationId: string; session: string; status: string; since: number }[];
    next?: number;
  }>(`/mesh/runs${query}`);
const client = () => restClient(mesh.gatewayUrl);

/** Runs an app in a new session. */
async function talk(app: string, text: string) {
  const session = await client().createSession(app);
  const events = await client().events(app, session, text);
  return { session, invocationId: events[0]?.invocationId ?? '' };
}

describe('the map of the mesh', () => {
  it('has the replicas of agents, tools and gateways, with their versions, and who calls whom', async () => {
    const { agents, tools, gateways, deadLetters } = await map();
    expect(agents.map(({ name }) => name)).toEqual([
      ...['customer_agent', 'reimbursement_agent', 'support_agent', 'time_off_agent', 'weather_agent'],
    ]);
    expect(tools.map(({ name }) => name)).toEqual(['ask_for_approval', 'get_weather', 'reimburse']);
    for (const { replicas } of [...agents, ...tools]) {
      expect(replicas).toHaveLength(1);
      expect(replicas[0]).toMatchObject({ version: expect.stringMatching(/^\d/), errors: 0 });
      expect(Math.abs(Date.now() - (replicas[0]?.since ?? 0))).toBeLessThan(120_000);
    }
    expect(gateways).toHaveLength(1);
    expect(deadLetters).toBe(0);
    const of = (name: string) => agents.find((each) => each.name === name);
    expect(of('weather_agent')?.calls).toEqual([{ to: 'get_weather', kind: 'tool', how: 'call' }]);
    expect(of('customer_agent')).toMatchObject({
      calls: [{ to: 'support_agent', kind: 'agent', how: 'transfer' }],
      ownTools: ['check_urgency'],
    });
  });

  it('loses a replica that is killed, and counts the runs that wait for another one', async () => {
    const weather = services.find(({ manifest }) => manifest.name === 'weather_agent');
    const process = mesh.processes.find(({ name }) => name === 'weather_agent');
    if (!weather || !process) throw new Error('weather_agent is no sample');
    await process.kill();
    const look = async () => (await map()).agents.find(({ name }) => name === 'weather_agent');
    await until(async () => (await look())?.replicas.length === 0, { what: 'the end of the replica' });
    const bus = await connectNats({
      url: mesh.natsUrl,
      service: 'client',
      cards: false,
      ...mesh.login('client'),
    });
    const command = { message: 'weather in Paris?', app: 'weather_app', user: 'late' };
    await bus.enqueue(names.agentRun('weather_agent', 'new'), command, { messageId: 'late' });
    const waiting = await until(async () => {
      const queue = (await look())?.queue as { waiting: number; oldest?: number } | undefined;
      return queue?.waiting === 1 && queue;
    });
    expect(Math.abs(Date.now() - Number((waiting as { oldest: number }).oldest))).toBeLessThan(60_000);
    await mesh.start(weather);
    await until(async () => {
      const found = await look();
      return found?.replicas.length === 1 && found.replicas[0]?.work === 1;
    });
    await bus[Symbol.asyncDispose]();
  });
});

describe('the runs of all users', () => {
  it('are listed newest first, in pages, and found by their ids', async () => {
    const one = await talk('customer_app', 'My account is locked and this is urgent!');
    const two = await talk('weather_app', 'How is the weather in Paris?');
    const page = await runs('?limit=1');
    expect(page.runs[0]).toMatchObject({
      ...{ invocationId: two.invocationId, session: two.session, app: 'weather_app', user: 'u1' },
      ...{ agent: 'weather_agent', status: 'completed', llmCalls: 2 },
    });
    const { runs: further } = await runs(`?limit=1&before=${page.next}`);
    expect(further[0]).toMatchObject({ invocationId: one.invocationId, app: 'customer_app' });
    expect((await runs('?app=customer_app')).runs).toHaveLength(1);
    expect((await runs('?user=nobody')).runs).toEqual([]);
    expect((await runs('?status=failed')).runs).toEqual([]);
    expect((await runs('?status=completed&user=u1')).runs).toHaveLength(2);
  });

  it('show an invocation over two agents as a waterfall', async () => {
    const { invocationId, session } = await talk('customer_app', 'My account is locked and this is urgent!');
    const found = await get<{ bars: Bar[]; status: string; tokens: object }>(
      `/mesh/invocations/${invocationId}`,
    );
    expect(found).toMatchObject({
      app: 'customer_app',
      user: 'u1',
      session,
      status: 'completed',
      isCut: false,
    });
    const { bars } = found;
    const [root] = bars;
    const shown = bars.map(({ kind, name }) => (kind === 'model' ? kind : `${kind} ${name}`));
    expect(shown).toEqual([
      ...['invocation invocation', 'agent customer_agent', 'model', 'tool check_urgency'],
      ...['agent support_agent', 'model'],
    ]);
    for (const bar of bars) {
      expect(bar.from).toBeGreaterThanOrEqual(root?.from ?? 0);
      expect(bar.to).toBeLessThanOrEqual(root?.to ?? 0);
      expect(bar.to).toBeGreaterThanOrEqual(bar.from);
      if (bar !== root) expect(bars.map(({ id }) => id)).toContain(bar.parent);
    }
    expect(root?.replicas.map((replica) => replica.replace(/-.*/, ''))).toEqual([
      ...['agent_customer_agent', 'agent_support_agent'],
    ]);
    const named = `?app=customer_app&user=u1&session=${session}`;
    expect(await get(`/mesh/invocations/${invocationId}${named}`)).toEqual(found);
    expect((await fetch(`${mesh.gatewayUrl}/mesh/invocations/none`)).status).toBe(404);
  });
});

describe('what waits', () => {
  it('is listed for all users, and leaves the list with its answer', async () => {
    const { session } = await talk('time_off_app', 'I want 5 days off');
    const list = async () =>
      (await get<{ pending: { id: string; name: string; sessionId: string }[] }>('/mesh/pending')).pending;
    const [call] = await list();
    expect(call).toMatchObject({ app: 'time_off_app', user: 'u1', sessionId: session, kind: 'confirmation' });
    const response = { confirmed: true, payload: { approvedDays: 4 } };
    await client().run('time_off_app', session, '', {
      newMessage: {
        role: 'user',
        parts: [{ functionResponse: { id: call?.id, name: call?.name, response } }],
      },
    });
    expect(await list()).toEqual([]);
  });

  it('is answered without a request that Redis refuses, which doctor would report', async () => {
    const redis = new Redis(mesh.redisUrl);
    const refused = await redis.call('ACL', 'LOG');
    redis.disconnect();
    expect(refused).toEqual([]);
  });
});

describe('dead letters', () => {
  it('are listed, shown, replayed as a new invocation, and removed', async () => {
    const session = await client().createSession('weather_app');
    const login = mesh.login('agent_weather_agent');
    const bus = await connectNats({
      url: mesh.natsUrl,
      service: 'agent_weather_agent',
      cards: false,
      ...login,
    });
    const command = {
      ...{ invocationId: 'dead', app: 'weather_app', user: 'u1', session },
      message: 'How is the weather in Paris?',
    };
    for (const payload of [command, 'no command'])
      await bus.enqueue(
        names.dead('agent', 'weather_agent'),
        {
          ...{ subject: names.agentRun('weather_agent', session), payload, headers: {}, attempts: 6 },
          ...{ error: { code: 'internal', message: 'it failed' }, replica: 'r', time: 1_700_000_000_000 },
        },
        { messageId: `dead ${JSON.stringify(payload)}` },
      );
    await bus[Symbol.asyncDispose]();
    const list = async () =>
      (await get<{ deadLetters: { seq: number }[] }>('/mesh/dead-letters')).deadLetters;
    const [first, second] = await list();
    expect(first).toMatchObject({
      writer: { kind: 'agent', name: 'weather_agent' },
      isForeign: false,
      app: 'weather_app',
      user: 'u1',
      session,
      invocationId: 'dead',
      attempts: 6,
    });
    expect(await get(`/mesh/dead-letters/${first?.seq}`)).toMatchObject({ payload: command });
    const send = (method: string, path: string) => client().send(method, `/mesh/dead-letters/${path}`);
    const refused = await send('POST', `${second?.seq}/replay`);
    expect([refused.status, await refused.json()]).toMatchObject([412, { code: 'failed_precondition' }]);
    const replayed = (await (await send('POST', `${first?.seq}/replay`)).json()) as { invocationId: string };
    await until(
      async () =>
        (await runs('?status=completed')).runs.some((run) => run.invocationId === replayed.invocationId),
      { what: 'the run of the dead letter' },
    );
    expect(await list()).toHaveLength(1);
    expect(await (await send('DELETE', `${second?.seq}`)).json()).toEqual({ removed: second?.seq });
    expect((await send('DELETE', `${second?.seq}`)).status).toBe(404);
    expect(await list()).toEqual([]);
  });

  it('are one run each, also when several operators replay one at once', async () => {
    const session = await client().createSession('weather_app');
    const login = mesh.login('agent_weather_agent');
    const service = 'agent_weather_agent';
    await using bus = await connectNats({ url: mesh.natsUrl, service, cards: false, ...login });
    const payload = { app: 'weather_app', user: 'u1', session, message: 'How is the weather in Paris?' };
    const letter = {
      ...{ subject: names.agentRun('weather_agent', session), payload, headers: {}, attempts: 6 },
      ...{ error: { code: 'internal', message: 'it failed' }, replica: 'r', time: 1_700_000_000_000 },
    };
    await bus.enqueue(names.dead('agent', 'weather_agent'), letter, { messageId: 'replayed by many' });
    const { deadLetters } = await get<{ deadLetters: { seq: number }[] }>('/mesh/dead-letters');
    const replay = () => client().send('POST', `/mesh/dead-letters/${deadLetters[0]?.seq}/replay`);
    const answers = await Promise.all(Array.from({ length: 4 }, replay));
    const started = answers.filter(({ ok }) => ok);
    const ids = await Promise.all(started.map(async (each) => ((await each.json()) as Run).invocationId));
    expect(new Set(ids).size).toBe(1);
    for (const { ok, status } of answers) expect(ok || status === 404).toBe(true);
    const path = `/apps/weather_app/users/u1/sessions/${session}`;
    await until(
      async () =>
        (await get<Run>(`${path}/invocations/${ids[0]}`).catch(() => undefined))?.status === 'completed',
      {
        what: 'the run of the dead letter',
      },
    );
    // A second run would wait behind the first one.
    await client().events('weather_app', session, 'How is the weather in Rome?');
    const { events } = await get<{ events: { author: string; content: { parts: { text?: string }[] } }[] }>(
      path,
    );
    const messages = events
      .filter(({ author }) => author === 'user')
      .map(({ content }) => content.parts[0]?.text);
    expect(messages).toEqual(['How is the weather in Paris?', 'How is the weather in Rome?']);
  });
});

describe('the counters of calls', () => {
  it('have the calls and the transfers of each replica', async () => {
    await talk('customer_app', 'My account is locked!');
    await talk('weather_app', 'How is the weather in Rome?');
    const callsOf = async (agent: string) =>
      (await map()).agents.find(({ name }) => name === agent)?.replicas[0]?.calls;
    const count = expect.any(Number);
    await until(async () => (await callsOf('weather_agent'))?.length === 1, { what: 'the call' });
    expect(await callsOf('weather_agent')).toEqual([
      { to: 'get_weather', kind: 'tool', how: 'call', count, errors: 0 },
    ]);
    await until(async () => (await callsOf('customer_agent'))?.length === 1, { what: 'the transfer' });
    expect(await callsOf('customer_agent')).toEqual([
      { to: 'support_agent', kind: 'agent', how: 'transfer', count, errors: 0 },
    ]);
  });
});
