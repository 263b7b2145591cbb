import { subjects } from '@agentmesh/protocol';
import { startNats } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { connectNats } from '../nats/connect-nats.ts';
import { provision } from '../nats/operator/provision.ts';

const names = subjects();

it('finds the earlier commands of a session id in order, whatever their agent', async () => {
  await using nats = await startNats();
  await provision({ url: nats.url, agents: ['one', 'two'], storage: 'memory' });
  await using bus = await connectNats({ url: nats.url, service: 'agent_one', cards: false });
  const send = (agent: string, session: string, n: number) =>
    bus.enqueue(names.agentRun(agent, session), { n }, { messageId: `${n}` });
  for (const [agent, session, n] of [
    ['one', 's', 1],
    ['one', 't', 2],
    ['two', 's', 3],
    ['one', 's', 4],
  ] as const)
    await send(agent, session, n);
  const found = async (before: number) =>
    (await Array.fromAsync(bus.earlierRuns('s', before))).map(({ place }) => place);
  expect(await found(4)).toEqual([1, 3]);
  expect(await found(1)).toEqual([]);
  expect(await found(99)).toEqual([1, 3, 4]);
});
