import { until } from '@agentmesh/testing';
import type { StreamRest } from './check/history.ts';
import type { Queues } from './queues.ts';

export interface SettleOptions {
  queues: Queues;
  /** Returns the invocations that have not ended. */
  running: () => Promise<string[]>;
  timeoutMs: number;
}

/** The streams of work when all work has ended, and descriptions of the work that has not ended in time. */
export interface Settled {
  streams: StreamRest[];
  unsettled: string[];
}

/** Waits until all queues are empty and all invocations have ended. */
export async function settle({ queues, running, timeoutMs }: SettleOptions): Promise<Settled> {
  let streams: StreamRest[] = [];
  let open: string[] = [];
  const look = async () => {
    streams = await queues.states();
    if (streams.some(({ messages, ackPending }) => messages + ackPending > 0)) return false;
    open = await running();
    return open.length === 0;
  };
  // The checker judges the work that has not ended.
  await until(look, { timeoutMs, intervalMs: 200 }).catch(() => {});
  return { streams, unsettled: [...streams.flatMap(describe), ...open.map((id) => `${id} is running`)] };
}

function describe({ name, messages, ackPending }: StreamRest): string[] {
  if (messages + ackPending === 0) return [];
  return [`${name}: ${messages} messages waiting, ${ackPending} deliveries not acknowledged`];
}
