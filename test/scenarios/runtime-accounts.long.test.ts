import { readFile } from 'node:fs/promises';
import { getFunctionResponses } from '@agentmesh/agent';
import { connectNats, provision } from '@agentmesh/bus';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { agentManifest } from '@agentmesh/mesh';
import {
  addServices,
  beginRotation,
  finishRotation,
  removeServices,
  rotateSigningKey,
} from '@agentmesh/mesh/accounts';
import { subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { type Server, startRedis } from '@agentmesh/testing/servers';
import { connect, credsAuthenticator } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ResolverStage, startResolverStage } from '../resolver.fixture.ts';
import { lastText, restClient } from '../rest-client.ts';
import { echoAgent } from './runtime-accounts/src/agent.ts';

const names = subjects();
const first = ['weather_agent', 'get_weather', 'file_agent', 'process_large_file'];
const services = samples.filter(({ manifest }) => first.includes(manifest.name));
const newcomer = { manifest: agentManifest(echoAgent), folder: 'test/scenarios/runtime-accounts' };

let stage: ResolverStage;
let redis: Server;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;

beforeAll(async () => {
  stage = await startResolverStage(services.map(({ manifest }) => manifest));
  // Its user has all rights: the users of Redis are made at its start, and a service joins later here.
  redis = await startRedis({ appendOnly: true });
  const servers = { natsUrl: stage.url, redisUrl: redis.url };
  mesh = await launchMesh({ services, model: 'scripted', ...servers, credsOf: stage.credsOf });
  client = restClient(mesh.gatewayUrl);
});
afterAll(async () => {
  await mesh?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
  await redis?.stop();
});

/** Runs the weather agent, which calls its tool, in a new session. */
async function askForWeather(): Promise<void> {
  const session = await client.createSession('weather_app');
  const events = await client.events('weather_app', session, 'What is the weather in London?');
  if (!/it is cloudy/.test(lastText(events))) throw new Error(`the answer is ${lastText(events)}`);
}

/** Runs turns, several at once, until it is disposed. */
function startLoad(inFlight: number) {
  const stop = new AbortController();
  const load = { done: 0, failures: [] as unknown[] };
  const worker = async () => {
    while (!stop.signal.aborted) {
      await askForWeather().catch((error) => load.failures.push(error));
      load.done += 1;
    }
  };
  const workers = Array.from({ length: inFlight }, worker);
  return {
    /** Waits for turns that began later than now. */
    async more() {
      const target = load.done + inFlight + 2;
      await until(() => load.done > target, { what: 'more turns', timeoutMs: 20_000 });
      expect(load.failures.map(String)).toEqual([]);
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(workers);
    },
  };
}

/** Tries to connect with credentials. */
async function isAccepted(credentials: Uint8Array): Promise<boolean> {
  const authenticator = credsAuthenticator(credentials);
  try {
    const connection = await connect({ servers: stage.url, authenticator, reconnect: false });
    await connection.close();
    return true;
  } catch {
    return false;
  }
}

describe('a mesh with accounts in the JWT form', () => {
  it('runs turns, tool calls, jobs and asks', async () => {
    await askForWeather();
    const session = await client.createSession('file_app');
    const events = await client.events('file_app', session, 'Process report.txt, it has 2 MB.');
    const statuses = events.flatMap(getFunctionResponses).map(({ response }) => response?.status);
    expect(statuses.at(-1)).toBe('completed');
    await using bus = await connectNats({
      url: stage.url,
      credsFile: stage.credsOf('client'),
      service: 'client',
      cards: false,
    });
    const ask = bus.request(names.agentAsk('weather_agent'), { message: 'What is the weather in London?' });
    expect((await Array.fromAsync(ask)).at(-1)).toMatchObject({ type: 'result' });
  });

  it('takes a service while it runs, and closes the connections of a removed one', async () => {
    await using load = startLoad(1);
    const creds = stage.credsOf('agent_echo_agent');
    await addServices(stage.tenancy, [newcomer.manifest]);
    const credentials = await readFile(creds);
    await provision({ url: stage.url, credsFile: stage.credsOf('provision'), agents: ['echo_agent'] });
    await using service = await mesh.start(newcomer);
    const session = await client.createSession('echo_app');
    expect(lastText(await client.events('echo_app', session, 'good morning'))).toBe('good morning');
    const watcher = await connect({
      servers: stage.url,
      authenticator: credsAuthenticator(credentials),
      reconnect: false,
    });
    await removeServices(stage.tenancy, ['agent_echo_agent']);
    await watcher.closed();
    expect(await isAccepted(credentials)).toBe(false);
    await expect(readFile(creds)).rejects.toThrow('ENOENT');
    await load.more();
    await service.kill();
  });

  it('gets new credentials and a new signing key while it runs, without a failed request', async () => {
    await using load = startLoad(2);
    for (const service of ['agent_weather_agent', 'tool_get_weather', 'gateway']) {
      const old = await readFile(stage.credsOf(service));
      await beginRotation(stage.tenancy, service);
      expect(await isAccepted(old)).toBe(true);
      await finishRotation(stage.tenancy, service);
      expect(await isAccepted(old)).toBe(false);
      await load.more();
    }
    expect(await rotateSigningKey(stage.tenancy.folder, stage.tenancy.resolver)).toBeGreaterThan(5);
    await load.more();
  });
});
