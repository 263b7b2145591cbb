import { subjects } from '@agentmesh/protocol';
import { startNats } from '@agentmesh/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { connectNats } from '../connect-nats.ts';
import { provision } from './provision.ts';

const names = subjects();

it('a full queue of one session refuses the next run, and takes runs of other sessions', async () => {
  await using nats = await startNats();
  // A stream without these limits, as an earlier release made it.
  const raw = await connect({ servers: nats.url });
  const manager = await jetstreamManager(raw);
  const subject = names.workSubject('run', '*');
  await manager.streams.add({ name: names.workStream('run'), subjects: [subject], retention: 'workqueue' });
  await provision({ url: nats.url, agents: ['one'] });
  for (let n = 0; n < 10_000; n += 1) raw.publish(names.agentRun('one', 'full'), '{}');
  await raw.flush();
  await using bus = await connectNats({ url: nats.url, service: 'client', cards: false });
  const send = (session: string) => bus.enqueue(names.agentRun('one', session), {}, { messageId: session });
  await expect(send('full')).rejects.toMatchObject({
    code: 'resource_exhausted',
    message: expect.stringContaining('maximum messages per subject exceeded'),
  });
  await send('other');
  const { state } = await manager.streams.info(names.workStream('run'));
  expect(state.messages).toBe(10_001);
  await raw.close();
});
