// Works as a process with traces, for start-traces.int.test.ts: node traces-child.fixture.ts <off|otlp>. It writes
// one line of JSON: the warnings, the time of the stop in ms, and whether a library for traces was loaded.
import { createRequire } from 'node:module';
import { startSpan } from '@agentmesh/protocol';
import { startTraces } from './start-traces.ts';

const traces = process.argv[2] === 'otlp' ? 'otlp' : 'off';
const warnings: string[] = [];
const owner = await startTraces({
  config: { traces, traceContent: '0', traceRedact: undefined },
  service: 'child',
  replica: 'child-1',
  version: '1.2.3',
  log: { warn: (_fields, message) => warnings.push(message) },
});
for (let n = 0; n < 3; n += 1) {
  startSpan('work', {}, () => ({ kind: 'internal', attributes: {} }))?.end();
  // Longer than OTEL_BSP_SCHEDULE_DELAY: each span is sent alone.
  await new Promise((resolve) => setTimeout(resolve, 100));
}
startSpan('last work', {}, () => ({ kind: 'internal', attributes: {} }))?.end();
const stopping = performance.now();
await owner?.[Symbol.asyncDispose]();
const stopMs = Math.round(performance.now() - stopping);
const files = Object.keys(createRequire(import.meta.url).cache);
const isLoaded = files.some((file) => /@opentelemetry\/(?:sdk-trace|exporter-trace|otlp)/.test(file));
process.stdout.write(`${JSON.stringify({ warnings, stopMs, isLoaded })}\n`);
