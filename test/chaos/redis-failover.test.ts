import { expect, it } from 'vitest';
import { runFailover } from './redis-failover.ts';

// That this can fail is shown by `node test/chaos/redis-failover-main.ts 0`, which waits for no replica, and in check/deltas.test.ts.
it('loses and doubles no delta of 64 writers when a node of the cluster is killed and its replica promoted', async () => {
  const { violations, writes, gapMs } = await runFailover({ waitReplicas: 1 });
  expect(violations).toEqual([]);
  expect(writes).toBe(64 * 12);
  expect(gapMs).toBeLessThan(20_000);
}, 90_000);
