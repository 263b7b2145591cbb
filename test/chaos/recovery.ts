/**
 * Measures the pause of a run when the replica that works on it is killed: from SIGKILL until another replica
 * asks the model.
 *
 * `node test/chaos/recovery.ts [kills]`, default 30
 */
import { launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { replicaKey } from '@agentmesh/protocol';
import { latestFunctionResponses, startScriptedGemini, until } from '@agentmesh/testing';
import { restClient } from '../rest-client.ts';

const kills = Number(process.argv[2] ?? 30);
const stock = samples.find(({ manifest }) => manifest.name === 'stock_agent');
if (!stock) throw new Error('the stock sample is gone');

let hold = false;
await using model = await startScriptedGemini({
  script: (request) => {
    if (latestFunctionResponses(request).length === 0) {
      return { calls: [{ name: 'get_stock_price', args: { ticker: 'GOOG' } }] };
    }
    return hold ? { hang: true } : { text: 'done' };
  },
});
await using mesh = await launchMesh({
  services: [stock],
  env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
});
const replicas = [...mesh.processes, await mesh.start(stock)];
const client = restClient(mesh.gatewayUrl);
const times: number[] = [];
for (let n = 0; n < kills; n += 1) {
  const session = await client.createSession('stock_app');
  hold = true;
  const before = model.requests.length;
  const running = client.events('stock_app', session, 'GOOG?');
  await until(() => model.requests.length === before + 2, {
    what: 'the model to be asked for the second time',
  });
  const response = await client.send('GET', `/apps/stock_app/users/u1/sessions/${session}`);
  const { events } = (await response.json()) as { events: { customMetadata?: Record<string, string> }[] };
  const pid = Number(events.at(-1)?.customMetadata?.[replicaKey]?.split('-')[1]);
  const at = replicas.findIndex((replica) => replica.pid === pid);
  const killed = performance.now();
  await replicas[at]?.kill();
  hold = false;
  await until(() => model.requests.length === before + 3, {
    what: 'another replica to go on',
    timeoutMs: 60_000,
  });
  times.push(performance.now() - killed);
  await running;
  replicas[at] = await mesh.start(stock);
}
times.sort((a, b) => a - b);
const quantile = (q: number) => `${((times[Math.ceil(q * times.length) - 1] ?? 0) / 1_000).toFixed(1)} s`;
console.log(
  `${kills} kills: median ${quantile(0.5)}, p90 ${quantile(0.9)}, p99 ${quantile(0.99)}, longest ${quantile(1)}`,
);
