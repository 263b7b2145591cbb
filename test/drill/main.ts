// The operator's drill: plants ten incidents in a mesh, one after the other, and finds each of them as an operator
// does. Needs Linux, root (a small disk for NATS), a C compiler, Chromium and Prometheus. Writes the screenshots of
// docs/drill.md. Arguments: the names of incidents; default all.
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { findBrowser } from '../browser/web-ui.fixture.ts';
import { quota, slowModel, stuckApproval } from './incidents/demand.ts';
import { clockSkew, lostReplica, poisonRun, versionMismatch } from './incidents/replicas.ts';
import { natsDiskFull, redisFull, wrongPermission } from './incidents/servers.ts';
import { openOperator } from './operator.ts';
import { startPrometheus } from './prometheus.ts';
import { startStage } from './stage.ts';

const all = [
  ...[stuckApproval, poisonRun, redisFull, natsDiskFull, clockSkew],
  ...[wrongPermission, slowModel, lostReplica, versionMismatch, quota],
];
const shots = join(import.meta.dirname, '../../docs/drill');

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !all.some((each) => each.name === name));
if (unknown.length > 0) {
  console.error(`no incident ${unknown.join(', ')}; there are ${all.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

await using stage = await startStage({ hasDisk: true });
// The mount outlives this process; all else ends with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    stage.disk?.[Symbol.dispose]();
    process.exit(130);
  });
await using prometheus = await startPrometheus(stage);
// Chromium has no sandbox for root.
await using browser = await chromium.launch({ executablePath: findBrowser(), chromiumSandbox: false });
const page = await browser.newPage({ viewport: { width: 1_000, height: 640 }, locale: 'en-US' });
page.setDefaultTimeout(20_000);
const operator = openOperator({ stage, prometheus, page, shots });

for (const incident of all.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  console.log(`${incident.name}: ${incident.title}`);
  const end = await incident.plant(stage);
  const planted = performance.now();
  const signs = incident.signs(stage);
  const found = await Promise.all(signs.map((sign) => operator.find(incident.name, sign)));
  for (const { place, text, at } of found) console.log(`  ${place} after ${seconds(at - planted)}: ${text}`);
  await end();
  const ended = performance.now();
  for (const sign of signs) await operator.miss(incident.name, sign);
  console.log(`  all signs are gone ${seconds(performance.now() - ended)} after the end`);
}
