import { every, subjects } from '@agentmesh/protocol';
import { startNats } from '@agentmesh/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
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

it('provisioning gives the streams of an earlier version these limits, and keeps their contents', async () => {
  await using nats = await startNats();
  const connection = await connect({ servers: nats.url });
  const manager = await jetstreamManager(connection);
  const republish = { src: `$KV.${names.cardBucket}.>`, dest: names.allCardNews };
  const bucket = await new Kvm(connection).create(names.cardBucket, { history: 1, republish });
  await bucket.put('agent.one', '{}');
  const duplicate_window = 120_000_000_000;
  const audit = { name: names.auditStream, subjects: [names.audit(every)] };
  await manager.streams.add({
    ...audit,
    max_msgs: 200_000,
    deny_delete: true,
    deny_purge: true,
    duplicate_window,
  });
  const dead = (['agent', 'tool'] as const).map((kind) => names.dead(kind, every));
  await manager.streams.add({ name: names.deadStream, subjects: dead, max_msgs: 100_000, deny_purge: true });
  const flooded = names.dead('agent', 'loud');
  for (let n = 0; n < 20_100; n += 1) connection.publish(flooded, '{}');
  await connection.request(names.dead('agent', 'quiet'), '{}');
  await connection.request(names.audit('gateway'), '{}');
  for (let round = 0; round < 2; round += 1) await provision({ url: nats.url, agents: ['one'] });
  const cards = await manager.streams.info(`KV_${names.cardBucket}`);
  expect(cards.config).toMatchObject({ allow_rollup_hdrs: false, deny_purge: true, republish });
  expect(cards.state.messages).toBe(1);
  const records = await manager.streams.info(names.auditStream);
  expect(records.config).toMatchObject({ max_msgs: -1, max_msgs_per_subject: 200_000 });
  expect(records.state.messages).toBe(1);
  for (let n = 0; n < 500; n += 1) connection.publish(flooded, '{}');
  await connection.flush();
  const letters = await manager.streams.info(names.deadStream, { subjects_filter: '>' });
  expect(letters.config).toMatchObject({ max_msgs: -1, max_msgs_per_subject: 20_000 });
  expect(letters.state.subjects?.[flooded]).toBeLessThanOrEqual(20_100);
  expect(letters.state.subjects?.[names.dead('agent', 'quiet')]).toBe(1);
  await connection.request(names.dead('operator', 'one'), '{}');
  await connection.close();
}, 60_000);
