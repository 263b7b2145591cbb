import { App } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { agentManifest, toolManifest } from '@agentmesh/mesh';
import { type DeadLetter, replicaKey, subjects } from '@agentmesh/protocol';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { natsLogin } from '../nats-login.ts';
import { restClient } from '../rest-client.ts';
import { clerk, copy } from './operations/definitions.ts';

const folder = 'test/scenarios/operations';
const names = subjects();

let model: ScriptedGemini;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
/** The process names in the log of each service. */
const logged = new Map<string, Set<unknown>>();

beforeAll(async () => {
  model = await startScriptedGemini({
    script: (request) =>
      latestFunctionResponses(request).length === 0
        ? { calls: [{ name: copy.name, args: {} }] }
        : { text: 'done' },
  });
  mesh = await launchMesh({
    services: [
      {
        manifest: agentManifest(new App({ name: 'clerk_app', rootAgent: clerk })),
        folder: `${folder}/agent`,
      },
      { manifest: toolManifest(copy), folder: `${folder}/tool` },
    ],
    env: { MODEL_URL: model.url, PACE_MS: '200' },
    onLine(service, line) {
      const { replica }: { replica?: unknown } = JSON.parse(line);
      logged.set(service, (logged.get(service) ?? new Set()).add(replica));
    },
  });
  client = restClient(mesh.gatewayUrl);
}, 60_000);
afterAll(async () => {
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

/** Returns the only process name in the lines of a service. */
function nameOf(service: string): string {
  const [name, ...others] = logged.get(service) ?? [];
  expect(others).toEqual([]);
  return String(name);
}

const login = (user: string): Promise<NatsConnection> =>
  connect({ servers: mesh.natsUrl, inboxPrefix: names.inboxPrefix(user), ...natsLogin(mesh.login(user)) });

describe('a process has the name of its log', () => {
  it('in its events, and in the jobs that it holds', async () => {
    await using redis = {
      client: new Redis(mesh.redisUrl),
      [Symbol.asyncDispose]: () => redis.client.quit().then(() => {}),
    };
    const session = await client.createSession('clerk_app');
    const running = client.events('clerk_app', session, 'copy the files');
    const holders: string[] = [];
    await until(async () => {
      for (const key of await redis.client.keys('*job*')) {
        if ((await redis.client.type(key)) !== 'hash') continue;
        const holder = await redis.client.hget(key, 'holder');
        if (holder !== null) holders.push(holder);
      }
      return holders.length > 0;
    });
    expect(holders.map((holder) => holder.split('/')[0])).toEqual(holders.map(() => nameOf(copy.name)));
    const events = await running;
    const writers = events.map(({ customMetadata }) => customMetadata?.[replicaKey]);
    expect(writers.length).toBeGreaterThan(1);
    expect(new Set(writers)).toEqual(new Set([nameOf('clerk')]));
  });

  it('in the dead letters that it writes', async () => {
    await using operator = await login('provision');
    const letters: DeadLetter[] = [];
    operator.subscribe(names.dead('agent', 'clerk'), {
      callback: (_error, message) => void letters.push(message.json<DeadLetter>()),
    });
    await operator.flush();
    await using outside = await login('client');
    outside.publish(names.agentRun('clerk', 's'), 'this is no run command');
    await until(() => letters.length > 0);
    expect(letters.map(({ replica }) => replica)).toEqual([nameOf('clerk')]);
  });

  it('in its answers to $SRV', async () => {
    // The operator's commands ask all services for their replicas.
    await using operator = await login('provision');
    for (const service of ['gateway', 'clerk', copy.name]) {
      const reply = await operator.request(`$SRV.PING.${names.shownAs(service)}`, '', { timeout: 5_000 });
      const answer = reply.json<{ id: string; metadata: { replica: string } }>();
      expect([answer.id, answer.metadata.replica]).toEqual([nameOf(service), nameOf(service)]);
    }
  });
});
