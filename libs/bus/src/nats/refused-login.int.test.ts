import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '@agentmesh/testing';
import { startNats } from '@agentmesh/testing/servers';
import { expect, it, onTestFinished } from 'vitest';
import { connectNats } from './connect-nats.ts';

it('a service whose login is refused tries again more and more rarely, until the login is good', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'agentmesh-refused-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const port = await freePort();
  const serverWith = (password: string) =>
    startNats({
      ...{ dataDir, port, runs: 'local' },
      configuration: `authorization { user: service, password: ${password} }`,
    });
  const refusals = () =>
    readFileSync(join(dataDir, 'nats-server.log'), 'utf8').split('authentication error').length - 1;
  let server = await serverWith('old');
  await using bus = await connectNats({
    ...{ url: server.url, service: 'service', user: 'service', pass: 'old', cards: false },
  });
  await server.stop();
  server = await serverWith('new');
  await until(() => refusals() > 0);
  const first = performance.now();
  await until(() => refusals() > 5, { timeoutMs: 30_000 });
  // At a steady pace of at most 150 ms it would take half of this time.
  expect(performance.now() - first).toBeGreaterThan(1_400);
  await server.stop();
  server = await serverWith('old');
  await until(() => bus.status().connected, { timeoutMs: 30_000 });
  await server.stop();
});
