import { provisionUser } from '@agentmesh/mesh';
import { connectRedisStore } from '@agentmesh/store';
import { until } from '@agentmesh/testing';
import { countingTools, onceTools } from './agents.ts';
import type { History, Observations, Rest } from './check/history.ts';
import { readEffects } from './effects.ts';
import type { Field } from './field.ts';
import { openQueues, type Queues } from './queues.ts';
import { readSessions } from './read-sessions.ts';
import { readRedisRest } from './redis-rest.ts';
import { settle } from './settle.ts';

/** The time for which a process may notice a deadline late on a machine that other work keeps busy, in ms. */
const deadlineSlackMs = 30_000;
/** The time limit for all accepted work to end after the last fault, in ms. */
const defaultSettleMs = 45_000;
/**
 * The time for what goes away by itself, in ms: a claim ends with its lease, an object is removed after the
 * acknowledgement of its message, a sweep finds waiting runs.
 */
const clearMs = 10_000;

/** The history, with figures that the rules do not use. */
export interface FinalHistory extends History {
  redeliveries: number;
  /**
   * The number of large payloads that only a sweep removed: because the process that had to remove them died, or
   * because services have accounts, with which none may remove them.
   */
  lostPayloads: number;
}

export interface ReadOptions {
  settleMs?: number | undefined;
  /** The least share of completed messages that the rules demand; 0 for a run that proves something else. */
  leastShare: number;
}

/**
 * Waits until all work has ended, and reads the history from the stores and from NATS. Work that has not ended
 * in time is in the history in its current state.
 */
export async function readHistory(
  field: Field,
  observations: Observations,
  { settleMs = defaultSettleMs, leastShare }: ReadOptions,
): Promise<FinalHistory> {
  await Promise.all(field.replicas.map((replica) => replica.ready()));
  await using store = await connectRedisStore({ url: field.redis.url });
  const { sessions } = store;
  await using queues = await openQueues(field.natsUrl, field.login(provisionUser));
  const running = async () => {
    const { invocations } = await readSessions(sessions, observations);
    return invocations.flatMap(({ status, invocationId }) => (status === 'running' ? invocationId : []));
  };
  const { streams, unsettled } = await settle({ queues, timeoutMs: settleMs, running });
  const { lostPayloads, ...rest } = await readRest(field, queues);
  return {
    lostPayloads,
    ...observations,
    ...(await readSessions(sessions, observations)),
    ...readEffects(field.effects),
    ...{ countingTools, onceTools, unsettled, leastShare, deadlineSlackMs },
    rest: { streams, ...rest },
  };
}

/** Reads what is left when all work has ended. Waits for what still goes away by itself. */
async function readRest(
  { redis }: Field,
  queues: Queues,
): Promise<Omit<Rest, 'streams'> & { lostPayloads: number }> {
  const read = async () => ({
    redis: await readRedisRest(redis.nodes),
    objects: await queues.objects(),
    deadLetters: await queues.deadLetters(),
  });
  let rest = await read();
  const isClear = async () => {
    rest = await read();
    return [rest.objects, ...Object.values(rest.redis)].every(({ length }) => length === 0);
  };
  // The rules report what stays.
  await until(isClear, { timeoutMs: clearMs, intervalMs: 500 }).catch(() => {});
  const lostPayloads = rest.objects.length > 0 ? await queues.removeLostPayloads() : 0;
  return { ...rest, objects: await queues.objects(), lostPayloads };
}
