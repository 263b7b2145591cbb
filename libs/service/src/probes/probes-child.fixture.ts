// Collects metrics as a process does, for push.int.test.ts: node probes-child.fixture.ts <on|otlp|off>. It writes one
// line of JSON: the warnings, the time of the stop in ms, and whether a library for metrics, and the client of `fetch`,
// were loaded.
import { createRequire } from 'node:module';
import { metrics } from '@opentelemetry/api';
import { startProbes } from './start-probes.ts';

const kind = process.argv[2];
const warnings: string[] = [];
const owner = await startProbes({
  config: {
    healthPort: undefined,
    healthHost: '127.0.0.1',
    metrics: kind === 'otlp' || kind === 'off' ? kind : 'on',
  },
  ready: () => true,
  service: 'child',
  replica: 'child-1',
  version: '1.2.3',
  log: { info() {}, warn: (_fields, message) => warnings.push(message) },
});
const counter = metrics.getMeter('test').createCounter('bread.eaten');
for (let n = 0; n < 3; n += 1) {
  counter.add(1);
  // Longer than OTEL_METRIC_EXPORT_INTERVAL.
  await new Promise((resolve) => setTimeout(resolve, 100));
}
counter.add(4);
const stopping = performance.now();
await owner[Symbol.asyncDispose]();
const stopMs = Math.round(performance.now() - stopping);
const files = Object.keys(createRequire(import.meta.url).cache);
const isLoaded = files.some((file) => /@opentelemetry\/(?:sdk-metrics|exporter|otlp)/.test(file));
// Node.js lists the modules of its own that a process has loaded, but does not document the list.
const { moduleLoadList } = process as unknown as { moduleLoadList: string[] };
const hasFetch = moduleLoadList.some((name) => name.includes('undici'));
process.stdout.write(`${JSON.stringify({ warnings, stopMs, isLoaded, hasFetch })}\n`);
