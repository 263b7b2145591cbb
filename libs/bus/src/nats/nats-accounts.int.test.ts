import { every, everySession, type Frame, subjects } from '@agentmesh/protocol';
import { freePort, until } from '@agentmesh/testing';
import { startNats } from '@agentmesh/testing/servers';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import type { Bus } from '../bus/bus.ts';
import { connectNats } from './connect-nats.ts';

const names = subjects();
const someSession = { appName: 'app', userId: 'user', sessionId: 's' };
const call = names.toolCall('adder');
const events = names.sessionNews(everySession, every, 'tool_adder');

/** Two accounts: the agent may call the tool, and hears its events. */
const configuration = `
accounts {
  agent: {
    users: [ { user: agent, password: agent } ]
    imports: [
      { service: { account: tool, subject: "${call}" } }
      { service: { account: tool, subject: "$SRV.PING.adder" } }
      { stream: { account: tool, subject: "${events}" } }
    ]
  }
  tool: {
    users: [ { user: tool, password: tool } ]
    exports: [
      { service: "${call}", response: stream, threshold: "1s", accounts: [agent] }
      { service: "$SRV.PING.adder", accounts: [agent] }
      { stream: "${events}", accounts: [agent] }
    ]
  }
}
`;

interface World extends AsyncDisposable {
  agent: Bus;
  tool: Bus;
  /** A connection of another program with the agent's user. */
  program: NatsConnection;
  /** Returns the number of callers to which the server knows the way back. */
  waysBack(): Promise<number>;
}

async function openWorld(): Promise<World> {
  await using owners = new AsyncDisposableStack();
  const port = await freePort();
  const server = owners.use(
    await startNats({ jetstream: false, configuration: `http: "127.0.0.1:${port}"\n${configuration}` }),
  );
  const open = (user: string) =>
    connectNats({ url: server.url, user, pass: user, service: user, cards: false, heartbeatMs: 200 });
  const agent = owners.use(await open('agent'));
  const tool = owners.use(await open('tool'));
  const program = await connect({ servers: server.url, user: 'agent', pass: 'agent' });
  owners.defer(() => program.close());
  const all = owners.move();
  return {
    ...{ agent, tool, program },
    async waysBack() {
      const response = await fetch(`http://127.0.0.1:${port}/accountz?acc=tool`);
      const { account_detail } = (await response.json()) as { account_detail: { responses?: object } };
      return Object.keys(account_detail.responses ?? {}).length;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function* slowly(): AsyncGenerator<Frame> {
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  yield { type: 'progress', data: { at: 'half' } };
  yield { type: 'result', data: { sum: 3 } };
}

async function* quickly(): AsyncGenerator<Frame> {
  yield { type: 'result', data: { sum: 3 } };
}

describe('services in accounts of their own', () => {
  it('get all frames of an answer, also when it takes longer than the server waits for one', async () => {
    await using world = await openWorld();
    await world.tool.serve(call, slowly);
    const frames = await Array.fromAsync(world.agent.request(call, { a: 1 }));
    expect(frames.map(({ type }) => type)).toEqual([
      'accepted',
      ...frames.slice(1, -2).map(() => 'heartbeat'),
      'progress',
      'result',
    ]);
    expect(frames.length).toBeGreaterThan(8);
  });

  it('leave no way back on the server after an answer', async () => {
    await using world = await openWorld();
    await world.tool.serve(call, quickly);
    for (let n = 0; n < 5; n += 1) {
      expect((await Array.fromAsync(world.agent.request(call, {}))).at(-1)).toMatchObject({
        data: { sum: 3 },
      });
      expect((await world.program.request(call, '{}')).json()).toEqual({ sum: 3 });
    }
    await until(async () => (await world.waysBack()) === 0, { timeoutMs: 900 });
  });

  it('hear news and pings, and tell who is not there', async () => {
    await using world = await openWorld();
    expect(await world.agent.isServed('adder')).toBe(false);
    await world.tool.register({ kind: 'tool', name: 'adder', version: '1.0.0', description: '' }, [call]);
    expect(await world.agent.isServed('adder')).toBe(true);
    const heard: string[] = [];
    await world.agent.subscribe(
      names.invocationWatch(everySession, 'i'),
      ({ subject }) => void heard.push(subject),
    );
    await world.tool.publish(names.sessionNews(someSession, 'i', 'agent_other'), 'forged');
    await world.tool.publish(names.sessionNews(someSession, 'i', 'tool_adder'), 'true');
    await until(() => heard.length > 0);
    expect(heard).toEqual([names.sessionNews(someSession, 'i', 'tool_adder')]);
  });
});
