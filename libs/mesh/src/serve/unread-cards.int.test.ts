import { setTimeout as delay } from 'node:timers/promises';
import { LlmAgent } from '@agentmesh/agent';
import { provision } from '@agentmesh/bus';
import { createLogger } from '@agentmesh/service';
import { natsMessages, startNats, startRedis, startTcpProxy } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { connectMesh } from '../connect/connect-mesh.ts';
import { ScriptedLlm } from '../harness.fixture.ts';
import { rootOf } from '../mesh/root-agent.ts';
import { serveAgent } from './serve-agent.ts';

it('an agent that starts while NATS does not give the cards serves when it has read them', async () => {
  await using nats = await startNats();
  await using redis = await startRedis();
  await provision({ url: nats.url, agents: ['desk', 'front'] });
  let isSilent = true;
  const rewrite = natsMessages(({ subject }) =>
    isSilent && subject.includes('.STREAM.INFO.KV_') ? 'drop' : 'pass',
  );
  await using proxy = await startTcpProxy({ host: nats.host, port: nats.port, rewrite });
  const log = createLogger({ service: 'test', replica: 'test', level: 'silent' });
  const connect = (service: string, natsUrl: string) =>
    connectMesh({ service, natsUrl, redisUrl: redis.url, log });
  const agentOf = (name: string) => new LlmAgent({ name, model: new ScriptedLlm() });
  await using deskMesh = await connect('agent_desk', nats.url);
  const desk = await serveAgent(deskMesh, agentOf('desk'), { app: 'shop' });
  await using mesh = await connect('agent_front', `nats://127.0.0.1:${proxy.port}`);
  expect(mesh.bus.directory.isRead).toBe(false);
  await expect(rootOf(mesh, 'shop')).rejects.toMatchObject({ code: 'unavailable' });
  let known: boolean | undefined;
  const serving = serveAgent(mesh, agentOf('front')).then((front) => {
    known = mesh.bus.directory.get('agent', 'desk') !== undefined;
    return front;
  });
  await delay(500);
  expect(known).toBeUndefined();
  isSilent = false;
  const front = await serving;
  expect(known).toBe(true);
  expect(await rootOf(mesh, 'shop')).toMatchObject({ name: 'desk' });
  await Promise.all([front.stop(), desk.stop()]);
});
