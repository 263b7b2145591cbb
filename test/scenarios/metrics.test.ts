import { readFileSync } from 'node:fs';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { natsLogin } from '../nats-login.ts';
import { lastText, restClient } from '../rest-client.ts';

const services = samples.filter(({ manifest }) => ['weather_agent', 'get_weather'].includes(manifest.name));
const ports = new Map<string, number>();
let mesh: LocalMesh;

beforeAll(async () => {
  mesh = await launchMesh({
    services,
    model: 'scripted',
    env: { MESH_HEALTH_PORT: '0' },
    onLine(service, line) {
      if (line.includes('health port is open')) ports.set(service, JSON.parse(line).port);
    },
  });
  await until(() => ports.size === 3, { what: 'the health ports of three processes' });
});
afterAll(() => mesh?.[Symbol.asyncDispose]());

/** Returns the value of a line of the metrics of a service, by the beginning of the line. */
async function metricOf(service: string, beginning: string): Promise<number> {
  const page = await (await fetch(`http://127.0.0.1:${ports.get(service)}/metrics`)).text();
  const line = page.split('\n').find((each) => each.startsWith(beginning));
  return Number(line?.split(' ').at(-1) ?? Number.NaN);
}

/** Returns the names of all metrics that a service shows, without the endings of counters and histograms. */
async function namesOf(service: string): Promise<string[]> {
  const page = await (await fetch(`http://127.0.0.1:${ports.get(service)}/metrics`)).text();
  return [...page.matchAll(/^# TYPE (\S+?)(?:_total)? /gm)].flatMap(([, name = '']) => name);
}

it('each process shows its part of a run to Prometheus', async () => {
  const client = restClient(mesh.gatewayUrl);
  const session = await client.createSession('weather_app');
  expect(lastText(await client.events('weather_app', session, 'How is the weather in Paris?'))).not.toBe('');
  const of = (kind: string, name: string) =>
    `agentmesh_work_duration_count{kind="${kind}",name="${name}",outcome="completed"`;
  await until(async () => (await metricOf('weather_agent', of('run', 'weather_agent'))) === 1, {
    what: 'the run in the metrics of the agent',
  });
  expect(await metricOf('get_weather', of('call', 'get_weather'))).toBe(1);
  const input = 'agentmesh_model_tokens_total{agent="weather_agent"';
  expect(await metricOf('weather_agent', input)).toBeGreaterThan(0);
  const tool = 'agentmesh_tool_duration_count{agent="weather_agent",name="get_weather",outcome="completed"';
  expect(await metricOf('weather_agent', tool)).toBe(1);
  expect(await metricOf('weather_agent', 'agentmesh_model_duration_count{agent="weather_agent",model=')).toBe(
    2,
  );
  const runs = 'http_server_request_duration_count{http_request_method="POST",http_route="/run"';
  expect(await metricOf('gateway', runs)).toBe(1);
});

it('the gateway shows what waits for an answer', async () => {
  expect(await metricOf('gateway', 'agentmesh_pending_calls{app="weather_app"')).toBe(0);
  expect(await metricOf('gateway', 'agentmesh_pending_oldest_age{app="weather_app"')).toBe(0);
});

it('the page about metrics has all that the processes show', async () => {
  const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
  const documented = new Set([...page.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name));
  const shown = new Set((await Promise.all([...ports.keys()].map(namesOf))).flat());
  shown.delete('target_info');
  expect([...shown].filter((name) => !documented.has(name))).toEqual([]);
  // Failures, takeovers, redeliveries, waits and costs did not happen here.
  expect(shown.size).toBeGreaterThan(documented.size - 7);
});

it('a gateway shows the queues of the mesh to Prometheus', async () => {
  const queue = (state: string) =>
    `agentmesh_queue_messages{kind="run",name="weather_agent",state="${state}"`;
  expect(await metricOf('gateway', queue('waiting'))).toBe(0);
  expect(await metricOf('gateway', 'agentmesh_dead_letters')).toBe(0);
  const agent = mesh.processes.find(({ name }) => name === 'weather_agent');
  await agent?.stop();
  await using outside = await connect({
    servers: mesh.natsUrl,
    inboxPrefix: subjects().inboxPrefix('client'),
    ...natsLogin(mesh.login('client')),
  }).then((nats) => ({ nats, [Symbol.asyncDispose]: () => nats.close() }));
  const run = { app: 'weather_app', user: 'u1', message: 'How is the weather in Rome?' };
  outside.nats.publish(subjects().agentRun('weather_agent', 'waits'), JSON.stringify(run));
  outside.nats.publish(subjects().agentRun('weather_agent', 'waits'), JSON.stringify(run));
  await until(async () => (await metricOf('gateway', queue('waiting'))) === 2, { what: 'the waiting runs' });
  await until(
    async () => (await metricOf('gateway', 'agentmesh_queue_oldest_age{kind="run",name="weather_agent"')) > 0,
    { what: 'the age of the first run' },
  );
});
