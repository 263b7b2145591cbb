import { every, subjects } from '@agentmesh/protocol';
import { type Server, startNats } from '@agentmesh/testing';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDeadLetters } from './dead-letters.ts';
import { openOrphans } from './orphans.ts';
import { provision } from './provision.ts';

let nats: Server;
let connection: NatsConnection;
const names = subjects();

beforeAll(async () => {
  nats = await startNats();
  await provision({ url: nats.url, agents: ['solo'], tools: ['drill'], storage: 'memory' });
  connection = await connect({ servers: nats.url });
  const { streams } = await jetstreamManager(connection);
  // Streams of an earlier release took messages for any name.
  for (const kind of ['run', 'operation', 'job'] as const)
    await streams.update(names.workStream(kind), { subjects: [names.workSubject(kind, every)] });
});
afterAll(async () => {
  await connection?.close();
  await nats?.stop();
});

it('finds messages that no consumer takes, also with a literal *, and moves them to the dead letters once', async () => {
  await using queues = await openOrphans({ url: nats.url });
  await using letters = await openDeadLetters({ url: nats.url });
  const publish = (subject: string, payload: string, msgID?: string) =>
    jetstream(connection).publish(subject, payload, { ...(msgID !== undefined && { msgID }) });
  await publish(names.agentRun('solo', 's'), '{"message":"is taken"}');
  await publish(names.operation('solo', 'call', 'client'), '{}');
  expect(await queues.list()).toEqual([]);
  await publish('mesh.v1.agent.*.run.s', '{"message":"star"}', 'star');
  await publish('mesh.v1.agent.*.run.t', 'no json');
  await publish('mesh.v1.operation.*.call.client', '{}');
  await publish(names.toolJob('dril'), '{}');
  const found = await queues.list();
  expect(found.map(({ kind, subject, count }) => `${kind} ${subject} ${count}`).sort()).toEqual([
    'job mesh.v1.tool.dril.job 1',
    'operation mesh.v1.operation.*.call.client 1',
    'run mesh.v1.agent.*.run.* 2',
  ]);
  for (const { subject, count } of found) expect(await queues.bury(subject)).toBe(count);
  expect(await queues.list()).toEqual([]);
  expect(await queues.bury('mesh.v1.agent.*.run.*')).toBe(0);
  const buried = (await letters.list()).map(({ letter }) => [letter.subject, letter.payload]);
  expect(buried).toContainEqual(['mesh.v1.agent.*.run.s', { message: 'star' }]);
  expect(buried).toContainEqual(['mesh.v1.agent.*.run.t', 'no json']);
  expect(buried).toHaveLength(4);
});
