/**
 * Sends random requests to a gateway of a mesh of its own, and fails when one is answered with a fault.
 *
 * `node_modules/.bin/node test/security/fuzz/main.ts [number of requests] [seed]`
 */
import { launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { fuzz } from './fuzz.ts';

const [count = 100_000, seed = 1] = process.argv.slice(2).map(Number);
const services = samples.filter(({ manifest }) => manifest.name === 'stock_agent');
await using mesh = await launchMesh({ services, model: 'scripted' });
const known = { app: 'stock_app', user: 'ann', session: 's1', artifact: 'note.txt', version: '0' };
await fetch(`${mesh.gatewayUrl}/apps/stock_app/users/ann/sessions/s1`, { method: 'POST' });
const began = performance.now();
const report = await fuzz({ url: mesh.gatewayUrl, count, seed, pid: mesh.gateway.pid, known });
const { statuses, failures, mostMiB } = report;
const seconds = (performance.now() - began) / 1_000;
console.log(
  `${count} requests in ${seconds.toFixed(0)} s, seed ${seed}; gateway ${mostMiB.toFixed(0)} MiB at most`,
);
console.log(statuses);
for (const { request, answer } of failures.slice(0, 10))
  console.log({ ...request, body: request.body?.toString().slice(0, 300) }, answer);
process.exitCode = failures.length === 0 ? 0 : 1;
