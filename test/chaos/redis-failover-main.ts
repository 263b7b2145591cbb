/**
 * Kills a node of a Redis Cluster under 64 writers and counts the lost and doubled deltas.
 *
 * `node test/chaos/redis-failover-main.ts [replicas] [repetitions] [ms]`, default 1 5 300: the number of replicas
 * to wait for, and the time for which the replica is disconnected before the kill.
 */
import { runFailover } from './redis-failover.ts';

const [waitReplicas = 1, times = 5, cutOffMs = 300] = process.argv.slice(2).map(Number);
for (let n = 1; n <= times; n += 1) {
  const { violations, writes, gapMs, promotedMs } = await runFailover({
    waitReplicas,
    cutOffMs,
    commits: 30,
  });
  const byRule = Object.entries(Object.groupBy(violations, ({ rule }) => rule)).map(
    ([rule, found]) => `${rule} ${found?.length}`,
  );
  console.log(
    `${n}: ${writes} writes, promoted after ${Math.round(promotedMs)} ms, longest gap ${Math.round(gapMs)} ms, ` +
      `violations: ${byRule.join(', ') || 'none'}`,
  );
}
