import { subjects } from '@agentmesh/protocol';
import { startNats } from '@agentmesh/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { connectNats } from '../connect-nats.ts';
import { provision } from '../operator/provision.ts';

const names = subjects();

it('a replica has one open request at a time, busy or idle, and none when all its slots are busy', async () => {
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
  const held: (() => void)[] = [];
  const handler = async () => {
    handled += 1;
    if (handled > 40) await new Promise<void>((resolve) => held.push(resolve));
    return { done: true } as const;
  };
  for (let n = 0; n < 40; n += 1) {
    await bus.enqueue(names.agentRun('one', `s${n}`), { n }, { messageId: `${n}` });
  }
  const consuming = await bus.consumeRuns('one', handler, { maxConcurrency: 4 });
  await expect.poll(() => handled).toBe(40);
  expect(await openRequests()).toBeLessThanOrEqual(1);
  await expect.poll(openRequests, { timeout: 5_000 }).toBe(1);
  for (let n = 0; n < 4; n += 1)
    await bus.enqueue(names.agentRun('one', 'late'), {}, { messageId: `late ${n}` });
  await expect.poll(() => held.length).toBe(4);
  expect(await openRequests()).toBe(0);
  for (const release of held) release();
  await expect.poll(openRequests, { timeout: 5_000 }).toBe(1);
  await consuming.stop({ graceMs: 0 });
  await raw.close();
}, 20_000);

it('as many items as there are slots are at work at once, however many that is', async () => {
  await using nats = await startNats();
  await provision({ url: nats.url, agents: ['one'], storage: 'memory' });
  await using bus = await connectNats({ url: nats.url, service: 'agent_one', cards: false });
  const count = 1_200;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let begun = 0;
  const handler = async () => {
    begun += 1;
    await released;
    return { done: true } as const;
  };
  const consuming = await bus.consumeRuns('one', handler, { maxConcurrency: count });
  const all = Array.from({ length: count }, (_, n) =>
    bus.enqueue(names.agentRun('one', `s${n}`), { n }, { messageId: `${n}` }),
  );
  await Promise.all(all);
  await expect.poll(() => begun, { timeout: 10_000 }).toBe(count);
  release();
  await consuming.stop();
}, 30_000);
