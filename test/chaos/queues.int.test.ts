import { connectNats, provision } from '@agentmesh/bus';
import { subjects } from '@agentmesh/protocol';
import { startNats } from '@agentmesh/testing/servers';
import { expect, it } from 'vitest';
import { openQueues } from './queues.ts';

it('reports all large payloads', async () => {
  await using nats = await startNats();
  await provision({ url: nats.url, agents: ['a'], tools: [] });
  const large = 'x'.repeat(3_000_000);
  await using bus = await connectNats({ url: nats.url, service: 'test', cards: false });
  await bus.enqueue(subjects().agentRun('a', 's'), { message: large }, { messageId: 'one' });
  const { id } = await bus
    .objects(subjects().claimBucket('work'))
    .put(ReadableStream.from([Buffer.from(large)]));
  await using queues = await openQueues(nats.url, {});
  const objects = await queues.objects();
  expect(objects).toContain(`MESH_CLAIMS_WORK/${id}`);
  expect(objects).toHaveLength(2);
});
