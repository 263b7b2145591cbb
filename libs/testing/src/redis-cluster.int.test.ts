import { expect, test } from 'vitest';
import { startRedisCluster } from './redis-cluster.ts';
import { until } from './wait.ts';

test('a cluster of six: a replica takes the place of a primary that is killed, which comes back as a replica', async () => {
  await using cluster = await startRedisCluster();
  expect(cluster.nodes).toHaveLength(6);
  const before = await cluster.primaryOf('k');
  expect(await before.command(['SET', 'k', 'v'])).toBe('OK');
  expect(await before.command(['WAIT', 1, 1_000])).toBe(1);
  await before.kill();
  const after = await until(async () => {
    const node = await cluster.primaryOf('k');
    return node.port !== before.port && node;
  });
  expect(await after.command(['GET', 'k'])).toBe('v');
  await before.start();
  await cluster.settled();
  expect(((await before.command(['ROLE'])) as string[])[0]).toBe('slave');
  expect((await cluster.primaryOf('k')).port).toBe(after.port);
});
