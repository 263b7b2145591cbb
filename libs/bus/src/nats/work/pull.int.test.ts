import { subjects } from '@agentmesh/protocol';
import { startNats } from '@agentmesh/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { connectNats } from '../connect-nats.ts';
import { provision } from '../operator/provision.ts';

const names = subjects();

it('free slots ask at the same time while items wait, and an idle replica has one open request', async () => {
  await using nats = await startNats();
  await provision({ url: nats.url, agents: ['one'], storage: 'memory' });
  await using bus = await connectNats({ url: nats.url, service: 'agent_one', cards: false });
  const raw = await connect({ servers: nats.url });
  const manager = await jetstreamManager(raw);
  const openRequests = async () => {
    const info = await manager.consumers.info(names.workStream('run'), names.workConsumer('one'));
    return info.num_waiting;
  };
  let handled = 0;
  const handler = async () => {
    handled += 1;
    return { done: true } as const;
  };
  for (let n = 0; n < 40; n += 1) {
    await bus.enqueue(names.agentRun('one', `s${n}`), { n }, { messageId: `${n}` });
  }
  const consuming = await bus.consumeRuns('one', handler, { slots: 4 });
  await expect.poll(() => handled).toBe(40);
  expect(await openRequests()).toBeGreaterThan(1);
  await expect.poll(openRequests, { timeout: 5_000 }).toBe(1);
  await bus.enqueue(names.agentRun('one', 'late'), {}, { messageId: 'late' });
  await expect.poll(() => handled).toBe(41);
  await consuming.stop({ graceMs: 0 });
  await raw.close();
}, 20_000);
