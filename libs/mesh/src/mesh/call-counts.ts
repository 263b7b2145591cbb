import type { CountedCalls } from '@agentmesh/bus';
import { countCall } from './metrics.ts';

/** A service that this process used, and how: a call of a tool or an agent, or a transfer to an agent. */
export type CallTarget = Pick<CountedCalls, 'to' | 'kind' | 'how'>;

/** Counts what this process asked of other services, since it started. */
export interface CallCounts {
  add(target: CallTarget, isFailed: boolean): void;
  list(): CountedCalls[];
}

/** The largest number of targets that are counted one by one: a toolset may find any number of tools. */
const mostTargets = 100;

export function createCallCounts(): CallCounts {
  const counted = new Map<string, CountedCalls>();
  return {
    add({ to, kind, how }, isFailed) {
      countCall(how === 'transfer' ? how : kind, to, isFailed);
      const key = `${how} ${kind} ${to}`;
      const found = counted.get(key) ?? { to, kind, how, count: 0, errors: 0 };
      if (!counted.has(key) && counted.size >= mostTargets) return;
      counted.set(key, found);
      found.count += 1;
      if (isFailed) found.errors += 1;
    },
    list: () => [...counted.values()],
  };
}
