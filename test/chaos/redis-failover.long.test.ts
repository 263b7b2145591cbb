import { expect, it } from 'vitest';
import { runFailover } from './redis-failover.ts';

// `node test/chaos/redis-failover-main.ts 0`, which waits for no replica, and check/deltas.test.ts show that
// this test can fail.
it('loses and doubles no delta of 64 writers when a node of the cluster is killed and its replica promoted', async () => {
  const { violations, writes, gapMs } = await runFailover({ waitReplicas: 1 });
  expect(violations).toEqual([]);
  expect(writes).toBe(64 * 12);
  expect(gapMs).toBeLessThan(20_000);
}, 90_000);
