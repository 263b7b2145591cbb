import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';

interface Report {
  warnings: string[];
  stopMs: number;
  isLoaded: boolean;
  hasFetch: boolean;
}

interface Body {
  resourceMetrics: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] };
    scopeMetrics: { metrics: { name: string; sum?: { dataPoints: { asDouble: number }[] } }[] }[];
  }[];
}

/** The requests to the receiver. */
const requests: { path: string; body: Body }[] = [];
const receiver = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  requests.push({ path: request.url ?? '', body: JSON.parse(body) });
  response.setHeader('content-type', 'application/json').end('{}');
});

async function listen(): Promise<string> {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
}

async function close(): Promise<void> {
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
}

afterEach(async () => {
  requests.length = 0;
  await close();
});

async function work(kind: 'on' | 'otlp' | 'off', endpoint: string): Promise<Report> {
  const file = fileURLToPath(new URL('./probes-child.fixture.ts', import.meta.url));
  const env = {
    ...process.env,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_METRIC_EXPORT_INTERVAL: '50',
    OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    NO_PROXY: '127.0.0.1',
  };
  const { stdout } = await promisify(execFile)(process.execPath, [file, kind], { env });
  return JSON.parse(stdout);
}

/** Returns the sums of the counter of the child, in the order of the requests. */
function sums(): (number | undefined)[] {
  const metricsIn = ({ body }: { body: Body }) =>
    body.resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  return requests
    .flatMap(metricsIn)
    .filter(({ name }) => name === 'bread.eaten')
    .map(({ sum }) => sum?.dataPoints[0]?.asDouble);
}

it('sends the metrics again and again, the last ones at the stop, without a health port', async () => {
  expect(await work('otlp', await listen())).toMatchObject({ warnings: [], isLoaded: true });
  expect(requests.every(({ path }) => path === '/v1/metrics')).toBe(true);
  expect(sums().length).toBeGreaterThan(2);
  expect(sums().at(-1)).toBe(7);
  const { resource } = requests[0]?.body.resourceMetrics[0] ?? {};
  const values = Object.fromEntries(
    resource?.attributes.map(({ key, value }) => [key, value.stringValue]) ?? [],
  );
  expect(values).toMatchObject({
    'service.name': 'child',
    'service.instance.id': 'child-1',
    'service.version': '1.2.3',
  });
});

it.each(['on', 'off'] as const)('sends and loads nothing with %s', async (kind) => {
  expect(await work(kind, await listen())).toMatchObject({ warnings: [], isLoaded: false, hasFetch: false });
  expect(requests).toEqual([]);
});

it('costs one warning and half a second of the stop when the receiver is away', async () => {
  const endpoint = await listen();
  await close();
  const { warnings, stopMs } = await work('otlp', endpoint);
  expect(warnings).toEqual(['metrics cannot be sent; check OTEL_EXPORTER_OTLP_ENDPOINT and its receiver']);
  expect(stopMs).toBeLessThan(2_000);
});
