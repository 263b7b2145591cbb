import { until } from '@agentmesh/testing';
import type { Incident } from '../incident.ts';
import type { Stage } from '../stage.ts';

/** Waits until a run is answered again. @throws Error when none is within `timeoutMs` */
async function untilServed({ client }: Stage, timeoutMs = 60_000): Promise<void> {
  const isServed = async () => {
    const session = await client.createSession('weather_app');
    const body = {
      ...{ appName: 'weather_app', userId: 'u1', sessionId: session },
      newMessage: { role: 'user', parts: [{ text: 'How is the weather in Oslo?' }] },
    };
    return (await client.send('POST', '/run', body, AbortSignal.timeout(10_000))).ok;
  };
  await until(isServed, { what: 'a run that is answered', timeoutMs, intervalMs: 500 });
}

/** Redis has reached its limit of memory. */
export const redisFull: Incident = {
  name: 'redis-full',
  title: 'Redis is full',
  async plant(stage) {
    const used = Number(/^used_memory:(\d+)/m.exec(await stage.redis.info('memory'))?.[1]);
    await stage.redis.config('SET', 'maxmemory', Math.floor(used * 0.95));
    const stop = stage.keepAsking('How is the weather in Oslo?');
    return async () => {
      await stage.redis.config('SET', 'maxmemory', 0);
      await untilServed(stage);
      await stop();
    };
  },
  signs: () => [
    { place: 'doctor', line: /^! redis-memory: Redis uses \d+ % of its memory/m },
    { place: 'alert', alert: /^AgentmeshGatewayErrors$/ },
  ],
};

/** A service's user of Redis has lost its keys, as with an ACL file of an earlier release. */
export const wrongPermission: Incident = {
  name: 'wrong-permission',
  title: 'A service lacks a right',
  async plant(stage) {
    await stage.redis.acl('SETUSER', 'agent_weather_agent', 'resetkeys', '~am:other');
    const session = await stage.client.createSession('weather_app');
    const run = stage.client.run('weather_app', session, 'How is the weather in Oslo?');
    return async () => {
      // The users are in a file, as in a deployment.
      await stage.redis.acl('LOAD');
      await stage.redis.acl('LOG', 'RESET');
      await (await run).text();
      await stage.removeDeadLetters();
      await untilServed(stage);
    };
  },
  signs: () => [
    {
      place: 'doctor',
      line: /^✗ redis-rights: Redis refused in the last ten minutes: the key am:.+ of agent_weather_agent/m,
    },
    { place: 'alert', alert: /^AgentmeshDeadLetters$/ },
    {
      place: 'console',
      view: 'dead-letters',
      shows: (page) =>
        page.getByRole('listitem', { name: /^dead letter/ }).filter({ hasText: 'permission_denied' }),
    },
  ],
};

/** The disk of NATS has no space left. */
export const natsDiskFull: Incident = {
  name: 'nats-disk-full',
  title: 'The disk of NATS is full',
  async plant(stage) {
    const { disk } = stage;
    if (!disk) throw new Error('this incident needs a disk of its own: run the drill as root');
    disk.fill();
    const stop = stage.keepAsking('How is the weather in Oslo?');
    return async () => {
      disk.free();
      await stop();
      await stage.restartNats();
      await untilServed(stage);
    };
  },
  signs: () => [
    { place: 'doctor', line: /^✗ (nats-disk: NATS cannot write|jetstream-silent: NATS answers)/m },
    // NATS says that it has no space, which is 429, or stops its JetStream without a word.
    { place: 'alert', alert: /^AgentmeshGateway(Refuses|Errors)$/ },
  ],
};
