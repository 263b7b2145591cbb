import { until } from '@agentmesh/testing';
import type { QueueState, Queues } from './queues.ts';

/** Without a change for so long, what is not acknowledged will never be, in ms: it would have been delivered again several times. */
const phantomMs = 6_000;

export interface SettleOptions {
  queues: Queues;
  /** Invocations that have not ended. */
  running: () => Promise<string[]>;
  timeoutMs: number;
}

/**
 * Waits until every queue is worked off and every invocation has ended. Returns, in words, what is not so in time.
 *
 * A NATS server that was killed may wait for ever for the acknowledgement of a command that its stream does not have any more; when all else is
 * quiet nobody waits for that.
 */
export async function settle({ queues, running, timeoutMs }: SettleOptions): Promise<string[]> {
  let states: QueueState[] = [];
  let open: string[] = [];
  let changed = { to: '', at: 0 };
  const look = async () => {
    states = await queues.states();
    const picture = JSON.stringify(states);
    if (picture !== changed.to) changed = { to: picture, at: performance.now() };
    if (states.some(({ waiting }) => waiting > 0)) return false;
    const isPhantom = performance.now() - changed.at > phantomMs;
    if (!isPhantom && states.some(({ unacknowledged }) => unacknowledged > 0)) return false;
    open = await running();
    return open.length === 0;
  };
  // What it means that something is left, the checker says.
  await until(look, { timeoutMs, intervalMs: 100 }).catch(() => {});
  return [...states.flatMap(describe), ...open.map((id) => `${id} is running`)];
}

function describe({ agent, waiting, unacknowledged }: QueueState): string[] {
  if (waiting + unacknowledged === 0) return [];
  return [`${agent}: ${waiting} commands waiting, ${unacknowledged} not acknowledged`];
}
