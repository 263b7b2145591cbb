import { connectNats, openQueues } from '@agentmesh/bus';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { every, everySession, subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { natsLogin } from '../nats-login.ts';

let mesh: LocalMesh;
let tool: NatsConnection;
const names = subjects();
const victimSession = { appName: 'weather_app', userId: 'ann', sessionId: 's' };

beforeAll(async () => {
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name.includes('weather')),
    model: 'scripted',
  });
  tool = await login('tool_get_weather');
});
afterAll(async () => {
  await tool?.close();
  await mesh?.[Symbol.asyncDispose]();
});

function login(user: string): Promise<NatsConnection> {
  return connect({
    servers: mesh.natsUrl,
    inboxPrefix: names.inboxPrefix(user),
    ...natsLogin(mesh.login(user)),
  });
}

async function isRefused(connection: NatsConnection, subject: string, queue?: string): Promise<boolean> {
  const refused = Promise.withResolvers<boolean>();
  const subscription = connection.subscribe(subject, {
    ...(queue !== undefined && { queue }),
    callback: (error) => refused.resolve(error !== null),
  });
  // The server answers in order: an error about the subscription comes before the answer to the flush.
  await connection.flush();
  refused.resolve(false);
  subscription.unsubscribe();
  return await refused.promise;
}

describe('the NATS user of a tool', () => {
  it.each([
    ["another tool's calls", names.toolCall('other_tool')],
    ["all tools' calls", names.toolCall('*')],
    ['everything', '>'],
    ["another service's inbox", `${names.inboxPrefix('gateway')}.>`],
    ['all inboxes', '_INBOX.>'],
    ["an agent's asks", names.agentAsk('weather_agent')],
    ['the events of all sessions', names.sessionEvent(everySession, every, every)],
    [
      'its own calls outside the queue group, where it would see those of its siblings',
      names.toolCall('get_weather'),
    ],
  ])('may not listen to %s', async (_what, subject) => {
    expect(await isRefused(tool, subject)).toBe(true);
  });

  it('may listen to its own calls and inbox', async () => {
    expect(await isRefused(tool, names.toolCall('get_weather'), 'q')).toBe(false);
    expect(await isRefused(tool, `${names.inboxPrefix('tool_get_weather')}.x`)).toBe(false);
  });

  it.each([
    ['give an agent a run', names.agentRun('weather_agent', 's')],
    ['ask an agent', names.agentAsk('weather_agent')],
    ["forge an invocation's event", names.sessionNews(victimSession, 'e-1', 'tool_get_weather')],
    ["write another's card", `$KV.${names.cardBucket}.${names.cardKey('agent', 'weather_agent')}`],
    ['delete the files of all', `$JS.API.STREAM.DELETE.OBJ_${names.artifactBucket}`],
    ['have files sent to any subject', `$JS.API.CONSUMER.CREATE.OBJ_${names.artifactBucket}.x`],
    ['have a file sent as it is', `$JS.API.DIRECT.GET.OBJ_${names.artifactBucket}`],
    ['make a bucket', `$JS.API.STREAM.CREATE.OBJ_MINE`],
    ['change the bucket of large payloads', `$JS.API.STREAM.UPDATE.OBJ_${names.claimBucket('news')}`],
    ['delete the run stream', `$JS.API.STREAM.DELETE.${names.workStream('run')}`],
  ])('may not %s', async (_what, subject) => {
    await expect(tool.request(subject, '{}', { timeout: 5_000 })).rejects.toThrow(/permissions violation/i);
  });

  it('may ask whether a replica of its own service is gone, and about no other service', async () => {
    await using bus = await connectNats({
      url: mesh.natsUrl,
      service: 'tool_get_weather',
      cards: false,
      ...mesh.login('tool_get_weather'),
    });
    await until(() => bus.isGone('get_weather', 'tool_get_weather-1-00000000'));
    await expect(bus.isGone('weather_agent', 'agent_weather_agent-1-00000000')).rejects.toMatchObject({
      code: 'permission_denied',
    });
  });

  it('gets a clear error at once from our own client too', async () => {
    await using bus = await connectNats({
      url: mesh.natsUrl,
      service: 'tool_get_weather',
      cards: false,
      ...mesh.login('tool_get_weather'),
    });
    const ask = async () => {
      for await (const _ of bus.request(names.agentAsk('weather_agent'), { message: 'hi' }));
    };
    await expect(ask()).rejects.toMatchObject({ code: 'permission_denied' });
  });
});

describe('the NATS user of other programs', () => {
  it('cannot make a service publish for it on a forbidden subject', async () => {
    const client = await login('client');
    const victim = await login('gateway');
    const heard: string[] = [];
    victim.subscribe(names.sessionNews(victimSession, 'victim', 'agent_weather_agent'), {
      callback: (_error, message) => void heard.push(message.string()),
    });
    await victim.flush();
    const ask = names.agentAsk('weather_agent');
    client.publish(ask, '{"message":"hi"}', {
      reply: names.sessionNews(victimSession, 'victim', 'agent_weather_agent'),
    });
    client.publish(ask, '{"message":"hi"}', {
      reply: `$KV.${names.cardBucket}.${names.cardKey('agent', 'weather_agent')}`,
    });
    // This request is answered after the two before it.
    const reply = await client.request(ask, '{"message":"hi"}', { timeout: 20_000 });
    expect(reply.json()).toMatchObject({ text: expect.any(String) });
    await victim.flush();
    expect(heard).toEqual([]);
    await client.close();
    await victim.close();
  });

  it('cannot empty the queue of runs by the acknowledgement of a publish', async () => {
    const client = await login('client');
    const admin = await login('provision');
    const queued = async () => {
      const info = await admin.request(`$JS.API.STREAM.INFO.${names.workStream('run')}`);
      return info.json<{ state: { messages: number } }>().state.messages;
    };
    // The queue of an agent that is away.
    await using queues = await openQueues({ url: mesh.natsUrl, ...mesh.login('provision') });
    await queues.add({ kind: 'run', name: 'nobody' });
    client.publish(names.agentRun('nobody', 's'), '{"message":"x"}', {
      reply: `$JS.API.STREAM.PURGE.${names.workStream('run')}`,
    });
    await client.flush();
    await until(async () => (await queued()) === 1, { what: 'the run to be queued' });
    client.publish(names.agentRun('nobody', 's'), '{"message":"x"}', {
      reply: `$JS.API.STREAM.PURGE.${names.workStream('run')}`,
    });
    await client.flush();
    await until(async () => (await queued()) === 2, { what: 'the second run to be queued' });
    await client.close();
    await admin.close();
  });
});

describe('an unknown user', () => {
  it('is not let in', async () => {
    await expect(connect({ servers: mesh.natsUrl, user: 'nobody', pass: 'nothing' })).rejects.toThrow(
      /authorization/i,
    );
  });
});
