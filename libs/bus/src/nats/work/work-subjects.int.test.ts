import { every, subjects } from '@agentmesh/protocol';
import { type Server, startNats } from '@agentmesh/testing';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connectNats } from '../connect-nats.ts';
import { provision } from '../operator/provision.ts';
import { openQueues } from '../operator/service-queues.ts';

const names = subjects();
let nats: Server;
let raw: NatsConnection;
let manager: JetStreamManager;

beforeEach(async () => {
  nats = await startNats();
  raw = await connect({ servers: nats.url });
  manager = await jetstreamManager(raw);
});
afterEach(async () => {
  await raw?.close();
  await nats?.stop();
});

const setUp = (agents: string[], tools: string[] = []) =>
  provision({ url: nats.url, agents, tools, storage: 'memory' });
const subjectsOf = async (kind: 'run' | 'operation' | 'job') =>
  (await manager.streams.info(names.workStream(kind))).config.subjects;

/** Tells whether the mesh takes work of each kind for this name. */
async function takes(name: string): Promise<unknown[]> {
  await using bus = await connectNats({ url: nats.url, service: 'client', cards: false });
  const published = [
    names.agentRun(name, 's'),
    names.operation(name, 'call', 'client'),
    names.toolJob(name),
  ].map((subject) => bus.enqueue(subject, {}, { messageId: subject }));
  const settled = await Promise.allSettled(published);
  return settled.map((each) => (each.status === 'fulfilled' ? true : each.reason.code));
}

it('work for a name that nobody provisioned is refused when it is published', async () => {
  await setUp(['desk'], ['drill']);
  const refused = 'failed_precondition';
  expect(await takes('desk')).toEqual([true, true, refused]);
  expect(await takes('drill')).toEqual([refused, refused, true]);
  expect(await takes('dask')).toEqual([refused, refused, refused]);
  expect(await takes('*')).toEqual([refused, refused, refused]);
});

it('a mesh without services takes no work', async () => {
  await setUp([]);
  expect(new Set(await takes('desk'))).toEqual(new Set(['failed_precondition']));
  await setUp(['desk']);
  expect((await takes('desk'))[0]).toBe(true);
});

it('a later step keeps the names of earlier ones; streams of an earlier release get the names of their queues', async () => {
  await setUp(['one', 'two'], ['drill']);
  for (const kind of ['run', 'operation', 'job'] as const)
    await manager.streams.update(names.workStream(kind), { subjects: [names.workSubject(kind, every)] });
  await setUp(['three']);
  expect(await subjectsOf('run')).toEqual(
    ['one', 'three', 'two'].map((name) => names.workSubject('run', name)),
  );
  expect(await subjectsOf('job')).toEqual([names.workSubject('job', 'drill')]);
});

it('a service that joins or leaves while others do is taken or refused like them', async () => {
  await setUp(['desk']);
  const crowd = Array.from({ length: 12 }, (_, n) => `agent_${n}`);
  const each = async (change: 'add' | 'remove', which: readonly string[]) =>
    await Promise.all(
      which.map(async (name) => {
        await using queues = await openQueues({ url: nats.url });
        await queues[change]({ kind: 'run', name });
      }),
    );
  await each('add', crowd);
  const wanted = (which: readonly string[]) => which.map((name) => names.workSubject('run', name)).sort();
  expect(await subjectsOf('run')).toEqual(wanted(['desk', ...crowd]));
  const [leaving, staying] = [crowd.slice(0, 6), crowd.slice(6)];
  await Promise.all([each('remove', leaving), each('add', ['late_1', 'late_2', 'late_3'])]);
  expect(await subjectsOf('run')).toEqual(
    expect.arrayContaining(wanted(['desk', ...staying, 'late_1', 'late_2', 'late_3'])),
  );
  // A step that joined may have brought back the subject of one that left.
  await setUp(['desk']);
  expect(await subjectsOf('run')).toEqual(wanted(['desk', ...staying, 'late_1', 'late_2', 'late_3']));
});
