import { connectNats } from '@agentmesh/bus';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { subjects } from '@agentmesh/protocol';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let mesh: LocalMesh;
let tool: NatsConnection;
const names = subjects();

beforeAll(async () => {
  mesh = await launchMesh({ services: samples.filter(({ manifest }) => manifest.name.includes('weather')) });
  tool = await login('tool_get_weather');
});
afterAll(async () => {
  await tool?.close();
  await mesh?.[Symbol.asyncDispose]();
});

function login(user: string): Promise<NatsConnection> {
  return connect({ servers: mesh.natsUrl, inboxPrefix: names.inboxPrefix(user), ...mesh.login(user) });
}

async function isRefused(connection: NatsConnection, subject: string, queue?: string): Promise<boolean> {
  const refused = Promise.withResolvers<boolean>();
  const subscription = connection.subscribe(subject, {
    ...(queue !== undefined && { queue }),
    callback: (error) => refused.resolve(error !== null),
  });
  // The server answers in order: what it has to say of the subscription comes before the flush is through.
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
    ['the events of all sessions', names.allSessionEvents],
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
    ['give an agent a run', names.agentRun('weather_agent')],
    ['ask an agent', names.agentAsk('weather_agent')],
    ["forge an invocation's event", names.invocationEvent('e-1')],
    ["write another's card", `$KV.${names.cardBucket}.${names.cardKey('agent', 'weather_agent')}`],
    ['delete the run stream', `$JS.API.STREAM.DELETE.${names.runStream}`],
  ])('may not %s', async (_what, subject) => {
    await expect(tool.request(subject, '{}', { timeout: 5_000 })).rejects.toThrow(/permissions violation/i);
  });

  it('gets a clear error from our own client too, at once', async () => {
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

describe('an unknown user', () => {
  it('is not let in', async () => {
    await expect(connect({ servers: mesh.natsUrl, user: 'nobody', pass: 'nothing' })).rejects.toThrow(
      /authorization/i,
    );
  });
});
