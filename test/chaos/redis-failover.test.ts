import { expect, it } from 'vitest';
import { runFailover } from './redis-failover.ts';

it('loses and doubles no delta of 64 writers when a node of the cluster is killed and its replica promoted', async () => {
  const { violations, writes, gapMs } = await runFailover({ waitReplicas: 1 });
  expect(violations).toEqual([]);
  expect(writes).toBe(64 * 12);
  expect(gapMs).toBeLessThan(20_000);
}, 90_000);

it('reports what is lost when no replica is waited for', async () => {
  const { violations } = await runFailover({ waitReplicas: 0, commits: 30 });
  expect(new Set(violations.map(({ rule }) => rule))).toContain('delta-lost');
}, 90_000);
