import { until } from '@agentmesh/testing';
import type { StreamRest } from './check/history.ts';
import type { Queues } from './queues.ts';

/**
 * The time without a change after which the unacknowledged commands of a forgetful server count as ghosts, in
 * ms. Real ones would have been delivered again several times.
 */
const ghostMs = 6_000;

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

/**
 * Waits until all queues are empty and all invocations have ended. A server that keeps ghosts may wait without
 * end for the acknowledgement of a command. When all other work has ended, this function does not wait for
 * that, and counts these commands as ghosts. The commands that another server keeps count as waiting.
 */
export async function settle({ queues, running, timeoutMs }: SettleOptions): Promise<Settled> {
  let streams: StreamRest[] = [];
  let open: string[] = [];
  let changed = { to: '', at: 0 };
  const look = async () => {
    streams = (await queues.states()).map((each) => (queues.keepsGhosts ? each : withoutGhosts(each)));
    const picture = JSON.stringify(streams);
    if (picture !== changed.to) changed = { to: picture, at: performance.now() };
    if (streams.some(({ messages }) => messages > 0)) return false;
    const mayBeGhosts = queues.keepsGhosts && performance.now() - changed.at > ghostMs;
    if (!mayBeGhosts && streams.some(({ ackPending }) => ackPending > 0)) return false;
    open = await running();
    if (open.length > 0) return false;
    streams = streams.map((each) => (mayBeGhosts ? onlyGhosts(each) : each));
    return true;
  };
  // The checker judges the work that has not ended.
  await until(look, { timeoutMs, intervalMs: 200 }).catch(() => {});
  return { streams, unsettled: [...streams.flatMap(describe), ...open.map((id) => `${id} is running`)] };
}

const withoutGhosts = ({ ghosts, messages, ...rest }: StreamRest): StreamRest => ({
  ...rest,
  ghosts: 0,
  messages: messages + ghosts,
});

const onlyGhosts = ({ ghosts, ackPending, ...rest }: StreamRest): StreamRest => ({
  ...rest,
  ghosts: ghosts + ackPending,
  ackPending: 0,
});

function describe({ name, messages, ackPending }: StreamRest): string[] {
  if (messages + ackPending === 0) return [];
  return [`${name}: ${messages} messages waiting, ${ackPending} deliveries not acknowledged`];
}
