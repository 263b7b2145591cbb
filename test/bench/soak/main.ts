/**
 * Puts a mesh of the samples, with all accounts and rights, under a mixed load at a share of its peak for a long time:
 * the memory and the delay of the event loop of each process, and every error. Needs Linux.
 *
 * `node_modules/.bin/node test/bench/soak/main.ts [minutes [share of the peak]]`, default 30 0.7
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { type Sample, slopesOf, startScriptedGemini } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { loadClosed, loadOpen, quantile } from './load.ts';
import { gatewayAt, needed, script } from './operations.ts';

const [minutes = 30, share = 0.7] = process.argv.slice(2).map(Number);
if (!(minutes > 0 && share > 0 && share <= 1))
  throw new Error('give the minutes, above 0, and the share of the peak, above 0 and at most 1');
const [everyMs, peakMs, warmUpMs] = [10_000, 20_000, 10_000];
/** The first part of the time, in which caches fill, does not count for the slopes. */
const settledShare = 0.2;

await using model = await startScriptedGemini({ script });
/** The errors that services have logged. */
const errors: string[] = [];
const ports: { service: string; port: number }[] = [];
await using mesh = await launchMesh({
  services: samples.filter(({ manifest }) => needed.includes(manifest.name)),
  env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted', MESH_HEALTH_PORT: '0' },
  onLine(service, line) {
    if (line.includes('health port is open')) ports.push({ service, port: JSON.parse(line).port });
    if (/"level":"(?:error|fatal)"/.test(line)) errors.push(`${service}: ${line.slice(0, 400)}`);
  },
});
const gateway = gatewayAt(mesh.gatewayUrl);
await using redis = Object.assign(new Redis(mesh.redisUrl), {
  async [Symbol.asyncDispose]() {
    redis.disconnect();
  },
});

/** Returns the memory of a process, in MiB. */
function memoryOf(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

/** Returns the delay of the event loop of a service since the last look, 99th percentile, in ms. */
async function delayOf(port: number): Promise<number> {
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const [, seconds] = /^nodejs_eventloop_delay_p99\S*(?:\{.*\})? (\S+)/m.exec(page) ?? [];
  return Number(seconds) * 1_000;
}

async function sample(begin: number): Promise<Sample> {
  // The driver's own record of all requests would grow.
  model.requests.length = 0;
  const values: Record<string, number> = {};
  for (const { name, pid } of [mesh.gateway, ...mesh.keepers, ...mesh.processes])
    values[`MiB ${name}`] = memoryOf(pid);
  const [, used] = /^used_memory:(\d+)/m.exec(await redis.info('memory')) ?? [];
  values['MiB data of Redis'] = Number(used) / 1024 / 1024;
  for (const { service, port } of ports) values[`delay ${service}`] = await delayOf(port);
  return { at: performance.now() - begin, values };
}

await loadClosed(gateway, 16, warmUpMs);
const peak = await loadClosed(gateway, 32, peakMs);
if (peak.failures.length > 0) throw new Error(`the peak had failures: ${peak.failures[0]}`);
const perSecond = peak.perSecond * share;
console.log(
  `peak ${peak.perSecond.toFixed(0)} operations/s with 32 at once; ${perSecond.toFixed(0)}/s for ${minutes} min`,
);

const begin = performance.now();
const over = new AbortController();
const seen: Sample[] = [];
const watching = (async () => {
  while (!over.signal.aborted) {
    await delay(everyMs, undefined, { signal: over.signal }).catch(() => {});
    seen.push(await sample(begin));
  }
})();
const report = await loadOpen(gateway, { perSecond, most: 2_000, ms: minutes * 60_000 });
over.abort();
await watching;

const settled = seen.filter(({ at }) => at > settledShare * minutes * 60_000);
console.log(
  `${report.operations} operations, ${report.failures.length} failed, ${report.leftOut} left out; ` +
    `p50 ${quantile(report.times, 0.5).toFixed(1)} ms, p99 ${quantile(report.times, 0.99).toFixed(1)} ms, longest ${quantile(report.times, 0.999_999).toFixed(0)} ms`,
);
for (const failure of report.failures.slice(0, 10)) console.log(`  ${failure}`);
console.log(`${errors.length} errors in the logs of services`);
for (const line of errors.slice(0, 10)) console.log(`  ${line}`);
console.log(
  '\n| process | MiB at first | MiB at the end | MiB in an hour | delay of the event loop, p99 of 10 s: median (ms) | longest |',
);
console.log('|---|---:|---:|---:|---:|---:|');
for (const { name, first, last, perHour } of slopesOf(settled).filter((slope) =>
  slope.name.startsWith('MiB '),
)) {
  const service = name.slice(4);
  const delays = settled.flatMap(({ values }) => values[`delay ${service}`] ?? []);
  const [middle, longest] = delays.length > 0 ? [quantile(delays, 0.5), Math.max(...delays)] : [];
  const grows = `${perHour >= 0 ? '+' : ''}${perHour.toFixed(1)}`;
  console.log(
    `| ${service} | ${first.toFixed(0)} | ${last.toFixed(0)} | ${grows} | ${middle?.toFixed(1) ?? ''} | ${longest?.toFixed(1) ?? ''} |`,
  );
}
if (report.failures.length + errors.length + report.leftOut > 0) process.exitCode = 1;
