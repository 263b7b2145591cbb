import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fuzz } from './fuzz/fuzz.ts';

let mesh: LocalMesh;
beforeAll(async () => {
  const services = samples.filter(({ manifest }) => manifest.name === 'stock_agent');
  mesh = await launchMesh({ services, model: 'scripted' });
});
afterAll(() => mesh?.[Symbol.asyncDispose]());

it('the gateway answers 3,000 random requests without a fault of its own, and works afterwards', async () => {
  const known = { app: 'stock_app', user: 'ann', session: 's1', artifact: 'note.txt', version: '0' };
  const path = `${mesh.gatewayUrl}/apps/stock_app/users/ann/sessions/s1`;
  await fetch(path, { method: 'POST' });
  const gateway = { url: mesh.gatewayUrl, pid: mesh.gateway.pid };
  const { statuses, failures, mostMiB } = await fuzz({ ...gateway, known, count: 3_000, seed: 7 });
  expect(failures).toEqual([]);
  // Right requests are among them, and wrong ones of several kinds.
  for (const status of ['200', '400', '404', '405', '415']) expect(statuses[status]).toBeGreaterThan(10);
  expect(mostMiB).toBeLessThan(512);
  expect((await fetch(`${mesh.gatewayUrl}/list-apps`)).status).toBe(200);
}, 120_000);
