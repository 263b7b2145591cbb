import { every } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { memoryMesh } from '../harness.fixture.ts';
import { cancelInvocation } from '../runs/cancel-invocation.ts';
import { listenForCancellations } from './cancellations.ts';

const owner = { app: 'app', user: 'u' };

async function world() {
  const { sessions, connect, lines } = memoryMesh();
  const tool = await connect('tool_t');
  const session = await sessions.createSession({ appName: 'app', userId: 'u' });
  const ref = { appName: 'app', userId: 'u', sessionId: session.id, invocationId: 'e-1' };
  await sessions.leases.take(ref, { run: '', whenBusy: 'enqueue' });
  const cancellations = await listenForCancellations(tool);
  const { signal } = cancellations.signalOf('e-1', owner);
  return { sessions, connect, lines, ref, signal, cancellations };
}

it('a cancellation that an agent made up cancels nothing', async () => {
  const { connect, lines, signal, cancellations } = await world();
  const { bus, subjects } = await connect('agent_evil');
  for (const meant of [owner, {}])
    await bus.publish(subjects.invocationCancel('e-1', bus.service), { reason: 'evil', ...meant });
  await until(() => lines.length === 2, { what: 'both refusals' });
  expect(lines.join()).toContain('ignored a cancellation that the store does not know');
  expect(signal.aborted).toBe(false);
  // Work that comes later is not cancelled either.
  expect(cancellations.signalOf('e-1', owner).signal.aborted).toBe(false);
});

it('a cancellation that an agent has marked in the store cancels the work', async () => {
  const { connect, ref, signal } = await world();
  await cancelInvocation(await connect('agent_a'), ref, 'enough');
  await until(() => signal.aborted);
  expect(signal.reason).toMatchObject({ code: 'cancelled', message: 'enough' });
});

it('of several cancellations the reason of the first one is told each time', async () => {
  const { connect, ref } = await world();
  const client = await connect('client');
  const told: unknown[] = [];
  await client.bus.subscribe(client.subjects.invocationCancel(every, every), (message) =>
    told.push(message.json()),
  );
  for (const reason of ['one', 'two', 'three'])
    expect(await cancelInvocation(client, ref, reason)).toMatchObject({ cancelled: 'one' });
  await until(() => told.length === 3, { what: 'the cancellations' });
  expect(told).toMatchObject([{ reason: 'one' }, { reason: 'one' }, { reason: 'one' }]);
});

it('a cancellation of a program cancels the work without a mark', async () => {
  const { connect, signal } = await world();
  const { bus, subjects } = await connect('client');
  await bus.publish(subjects.invocationCancel('e-1', bus.service), { reason: 'stop' });
  await until(() => signal.aborted);
});
