import { until } from '@agentmesh/testing';
import type { QueueState, Queues } from './queues.ts';

/**
 * The time without a change after which an unacknowledged command counts as a phantom, in ms. A real one
 * would have been redelivered several times.
 */
const phantomMs = 6_000;

export interface SettleOptions {
  queues: Queues;
  /** Returns the invocations that have not ended. */
  running: () => Promise<string[]>;
  timeoutMs: number;
}

/**
 * Waits until all queues are empty and all invocations have ended. Returns descriptions of the work that has
 * not ended in time.
 *
 * A killed NATS server may wait without end for the acknowledgement of a command that is no longer in its
 * stream. When all other work has ended, this function does not wait for that.
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
  // The checker judges the work that has not ended.
  await until(look, { timeoutMs, intervalMs: 100 }).catch(() => {});
  return [...states.flatMap(describe), ...open.map((id) => `${id} is running`)];
}

function describe({ agent, waiting, unacknowledged }: QueueState): string[] {
  if (waiting + unacknowledged === 0) return [];
  return [`${agent}: ${waiting} commands waiting, ${unacknowledged} not acknowledged`];
}
