import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceProcess } from '@agentmesh/cli/local';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { type Sample, samples } from '@agentmesh/deploy/samples';
import { type Event, versionKey } from '@agentmesh/protocol';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RoundRobin, startRoundRobin } from '../round-robin.ts';

/** A transfer, an agent that asks another one, and a tool in another process. */
const apps: Record<string, { message: string; services: string[] }> = {
  customer_app: { message: 'It is urgent', services: ['customer_agent', 'support_agent'] },
  assistant_app: { message: 'Sum it up', services: ['assistant_agent', 'summary_agent'] },
  weather_app: { message: 'The weather in Paris?', services: ['weather_agent', 'get_weather'] },
};
const argsOf: Record<string, Record<string, unknown>> = {
  check_urgency: { request: 'urgent' },
  summary_agent: { request: 'a text' },
  get_weather: { city: 'Paris' },
};
const clients = 8;
/** Time for which a gateway still serves after the load balancer has left it out, in ms; 5 s in the manifests. */
const leaveMs = 300;

let model: ScriptedGemini;
let mesh: LocalMesh;
let proxy: RoundRobin;
/** The health ports of the processes, in the order of their starts. */
const ports: { service: string; port: number }[] = [];
const gateways: string[] = [];

beforeAll(async () => {
  model = await startScriptedGemini({
    script: (asked) => {
      const tool = asked.tools.find(({ name = '' }) => name in argsOf)?.name;
      if (tool !== undefined && latestFunctionResponses(asked).length === 0)
        return { calls: [{ name: tool, args: argsOf[tool] ?? {} }], delayMs: 50 };
      return { text: 'done', delayMs: 50 };
    },
  });
  const needed = Object.values(apps).flatMap(({ services }) => services);
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => needed.includes(manifest.name)),
    env: {
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_API_KEY: 'scripted',
      MESH_VERSION: '1.0.0',
      MESH_HEALTH_PORT: '0',
    },
    onLine(service, line) {
      if (line.includes('health port is open')) ports.push({ service, port: JSON.parse(line).port });
    },
  });
  gateways.push(mesh.gatewayUrl);
  proxy = await startRoundRobin(gateways);
}, 60_000);
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

/** Sends a request on a connection of its own, as from another client each time. */
async function post(path: string, body: object): Promise<{ status: number; text: string }> {
  const answer = Promise.withResolvers<{ status: number; text: string }>();
  const sent = request(
    `${proxy.url}${path}`,
    { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } },
    async (response) => {
      try {
        const pieces: Buffer[] = [];
        for await (const piece of response) pieces.push(piece);
        answer.resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() });
      } catch (error) {
        answer.reject(error);
      }
    },
  );
  sent.on('error', answer.reject);
  sent.end(JSON.stringify(body));
  return await answer.promise;
}

interface Load {
  times: number[];
  failures: string[];
  /** The versions that made the events of each run. */
  versions: string[][];
}

/** Sends one run after the other in new sessions until it is over. */
async function client(load: Load, isOver: () => boolean): Promise<void> {
  for (let turn = 0; !isOver(); turn += 1) {
    const [appName, { message }] = Object.entries(apps)[turn % Object.keys(apps).length] ?? [
      '',
      { message: '' },
    ];
    const startedAt = performance.now();
    try {
      const created = await post(`/apps/${appName}/users/u1/sessions`, {});
      if (created.status !== 200) throw new Error(`${created.status} ${created.text}`);
      const sessionId = JSON.parse(created.text).id;
      const newMessage = { role: 'user', parts: [{ text: message }] };
      const ran = await post('/run', { appName, userId: 'u1', sessionId, newMessage });
      if (ran.status !== 200) throw new Error(`${ran.status} ${ran.text}`);
      const events: Event[] = JSON.parse(ran.text);
      const failed = events.find(({ errorCode }) => errorCode !== undefined);
      if (failed) throw new Error(`${appName}: ${failed.errorCode} ${failed.errorMessage}`);
      load.versions.push(events.map(({ customMetadata }) => String(customMetadata?.[versionKey])));
      load.times.push(performance.now() - startedAt);
    } catch (error) {
      load.failures.push(String(error));
    }
  }
}

/** Starts a process of the new version, then stops the old one. */
async function replace(old: ServiceProcess, which: Sample | 'gateway'): Promise<void> {
  const next = await mesh.start(which, { MESH_VERSION: '2.0.0' });
  if (which === 'gateway') {
    gateways.splice(0, gateways.length, next.address ?? '');
    await delay(leaveMs);
  }
  expect(await old.stop(), which === 'gateway' ? which : which.manifest.name).toBe(0);
}

const quantile = (times: readonly number[], share: number) =>
  Math.round(times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN);

it('a rolling update of all services under load fails no request', async () => {
  const load: Load = { times: [], failures: [], versions: [] };
  let isOver = false;
  const working = Array.from({ length: clients }, () => client(load, () => isOver));
  await until(() => load.times.length > 20, { what: 'the first runs' });
  const quiet = [...load.times];
  for (const old of mesh.processes) {
    const sample = samples.find(({ manifest }) => manifest.name === old.name);
    if (sample) await replace(old, sample);
  }
  await replace(mesh.gateway, 'gateway');
  const before = load.versions.length;
  await until(() => load.versions.length > before + 3 * clients, { what: 'runs after the update' });
  isOver = true;
  await Promise.all(working);
  console.log(
    `rolling update of ${mesh.processes.length + 1} services: ${load.times.length} runs, ${load.failures.length} failed, ` +
      `p50 ${quantile(load.times, 0.5)} ms, p99 ${quantile(load.times, 0.99)} ms (before: p99 ${quantile(quiet, 0.99)} ms)`,
  );
  expect(load.failures).toEqual([]);
  const seen = new Set(load.versions.flat());
  expect([...seen].sort()).toEqual(['1.0.0', '2.0.0']);
  expect(new Set(load.versions.slice(-clients).flat())).toEqual(new Set(['2.0.0']));
}, 180_000);

interface VersionedService {
  name: string;
  version: string;
  replicas: { version: string }[];
}

it('the new version is in the cards and the metrics', async () => {
  const response = await fetch(`${gateways[0]}/mesh`);
  const map = (await response.json()) as Record<'agents' | 'tools', VersionedService[]>;
  for (const { name, version, replicas } of [...map.agents, ...map.tools]) {
    expect([name, version]).toEqual([name, '2.0.0']);
    expect(replicas.map((each) => each.version)).toEqual(['2.0.0']);
  }
  for (const name of ['gateway', 'weather_agent', 'get_weather']) {
    const port = ports.findLast(({ service }) => service === name)?.port;
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(page).toMatch(/^target_info\{.*service_version="2\.0\.0"/m);
  }
});
