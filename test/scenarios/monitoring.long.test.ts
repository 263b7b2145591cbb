import { spawn } from 'node:child_process';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { alerts, readPage, type ShownSeries, usedExpressions } from '@agentmesh/deploy/monitoring';
import { samples } from '@agentmesh/deploy/samples';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';

const stock = samples.filter(({ manifest }) => manifest.name === 'stock_agent');

let model: ScriptedGemini;
let mesh: LocalMesh;
const pages = new Map<number, string>();
const ports: number[] = [];
/** The behaviour of the model in the place of its answer. */
let trouble: 'hangs' | 'fails' | undefined;

beforeAll(async () => {
  model = await startScriptedGemini({
    script: (request) => {
      if (trouble === 'fails') return { error: { status: 400, message: 'broken' } };
      if (latestFunctionResponses(request).length === 0)
        return { calls: [{ name: 'get_stock_price', args: { ticker: 'GOOG' } }] };
      return trouble === 'hangs' ? { hang: true } : { text: 'done' };
    },
  });
  mesh = await launchMesh({
    services: stock,
    ackWaitMs: 1_000,
    env: {
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_API_KEY: 'scripted',
      MESH_HEALTH_PORT: '0',
      MESH_PRICES: '*=1/1',
    },
    onLine(_service, line) {
      if (line.includes('health port is open')) ports.push(JSON.parse(line).port);
    },
  });
});
afterAll(async () => {
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

/** Reads the metrics of all processes that answer. */
async function series(): Promise<ShownSeries[]> {
  for (const port of ports) {
    const page = await fetch(`http://127.0.0.1:${port}/metrics`).then(
      (response) => response.text(),
      () => undefined,
    );
    if (page === undefined) pages.delete(port);
    else pages.set(port, page);
  }
  return [...pages.values()].flatMap(readPage);
}

/** Starts a run whose model hangs, and leaves it. */
async function stopRun(session: string): Promise<void> {
  trouble = 'hangs';
  const asked = model.requests.length;
  const client = new AbortController();
  const body = { app_name: 'stock_app', user_id: 'u1', session_id: session };
  const running = restClient(mesh.gatewayUrl).send(
    'POST',
    '/run_sse?stop_on_disconnect=true',
    { ...body, new_message: { role: 'user', parts: [{ text: 'GOOG?' }] } },
    client.signal,
  );
  await until(() => model.requests.length >= asked + 2, { what: 'the model to be asked for an answer' });
  client.abort();
  await running.then((response) => response.text()).catch(() => undefined);
}

it('alerts and dashboards use only metrics and labels that a mesh shows after a run, a takeover, a failure and a run that was stopped', async () => {
  const client = restClient(mesh.gatewayUrl);
  const session = await client.createSession('stock_app');
  trouble = 'hangs';
  const running = client.events('stock_app', session, 'GOOG?');
  await until(() => model.requests.length === 2, { what: 'the model to be asked for the second time' });
  await mesh.processes[0]?.kill();
  trouble = undefined;
  await mesh.start(stock[0] as (typeof stock)[number]);
  expect(lastText(await running)).toBe('done');
  trouble = 'fails';
  const broken = await client.createSession('stock_app');
  await client.run('stock_app', broken, 'GOOG?');
  await stopRun(await client.createSession('stock_app'));
  await until(
    async () =>
      (await series()).some(({ labels }) => labels.outcome === 'cancelled' && labels.code === 'cancelled'),
    { what: 'the run that was left in the metrics' },
  );

  const shown = await series();
  // AgentmeshNoReplica finds the replicas of a queue by the names of their services.
  const noReplica = alerts.find(({ alert }) => alert === 'AgentmeshNoReplica')?.expr ?? '';
  const [, pattern = ''] = /"service_name", "([^"]+)"/.exec(noReplica) ?? [];
  const services = shown.flatMap(({ metric, labels }) =>
    metric === 'target_info' ? (new RegExp(`^${pattern}$`).exec(labels.service_name ?? '')?.[1] ?? []) : [],
  );
  const queues = shown.filter(({ metric }) => metric === 'agentmesh_queue_messages');
  expect(queues.map(({ labels }) => labels.name)).toContain('stock_agent');
  expect(services).toContain('stock_agent');
  /** Labels that Prometheus gives to the series of a target, and the bounds of buckets. */
  const given = ['namespace', 'instance'];
  const used = usedExpressions();
  expect(used.length).toBeGreaterThan(30);
  for (const { where, metrics, grouping } of used) {
    const labelsOf = (metric: string) =>
      shown.filter((each) => each.metric === metric).flatMap(({ labels }) => Object.keys(labels));
    for (const { metric, labels } of metrics) {
      expect(labelsOf(metric), `${where}: ${metric}`).not.toEqual([]);
      const unknown = labels.filter((label) => !given.includes(label) && !labelsOf(metric).includes(label));
      expect(unknown, `${where}: ${metric}`).toEqual([]);
    }
    const all = metrics.flatMap(({ metric }) => labelsOf(metric));
    expect(
      grouping.filter((label) => !given.includes(label) && !all.includes(label)),
      where,
    ).toEqual([]);
  }
});

/** Reads the number of open streams that the gateway shows. */
async function openStreams(): Promise<number[]> {
  await series();
  return [...pages.values()].flatMap((page) => {
    const [, value] = /^agentmesh_sse_streams(?:\{.*\})? (\S+)/m.exec(page) ?? [];
    return value === undefined ? [] : [Number(value)];
  });
}

it('the gateway counts open streams: of clients that leave, that are killed, and that read to the end', async () => {
  const client = restClient(mesh.gatewayUrl);
  const bodyOf = async () => ({
    ...{ app_name: 'stock_app', user_id: 'u1', session_id: await client.createSession('stock_app') },
    new_message: { role: 'user', parts: [{ text: 'GOOG?' }] },
  });
  expect(await openStreams()).toEqual([0]);
  trouble = 'hangs';
  const asked = model.requests.length;
  const leaving = new AbortController();
  const path = '/run_sse?stop_on_disconnect=true';
  const left = client.send('POST', path, await bodyOf(), leaving.signal).then((answer) => answer.text());
  const json = ['-H', 'content-type: application/json', '-d', JSON.stringify(await bodyOf())];
  const killed = spawn('curl', ['-s', '-N', ...json, `${mesh.gatewayUrl}${path}`], { stdio: 'ignore' });
  await until(() => model.requests.length >= asked + 4, { what: 'two runs that wait for the model' });
  trouble = undefined;
  const reading = client.send('POST', '/run_sse', await bodyOf()).then((answer) => answer.text());
  expect(await reading).toContain('done');
  await until(async () => (await openStreams())[0] === 2, { what: 'the end of the stream that was read' });
  killed.kill('SIGKILL');
  leaving.abort();
  await left.catch(() => undefined);
  await until(async () => (await openStreams())[0] === 0, { what: 'the end of both streams' });
});
