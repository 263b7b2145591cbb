import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface IdleMemoryOptions {
  /** The time without work after which memory is returned, in ms; default 5 s. */
  idleMs?: number;
  /** The growth of the heap since the last collection that is worth its time, in bytes; default 24 MiB. */
  leastBytes?: number;
}

/** The share of the time in which a process without work may be active: timers, heartbeats, probes. */
const mostActive = 0.05;

/**
 * Returns the memory that V8 has taken and does not use to the system, once a process has no work: V8 by itself
 * keeps what the start or a burst of work has needed. A collection stops the process for some 50 to 100 ms.
 * Returns a function that ends this.
 */
export function returnIdleMemory({ idleMs = 5_000, leastBytes = 24 * 1024 * 1024 }: IdleMemoryOptions = {}) {
  let before: EventLoopUtilization = performance.eventLoopUtilization();
  let heapBefore = 0;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > mostActive) return;
    // How much of the heap is in use, V8 knows only after a collection.
    if (process.memoryUsage().heapTotal - heapBefore < leastBytes) return;
    collectGarbage();
    heapBefore = process.memoryUsage().heapTotal;
  }, idleMs);
  timer.unref();
  return () => clearInterval(timer);
}

type Collect = (options: { type: 'major'; flavor: 'last-resort'; execution: 'sync' }) => void;
let collect: Collect | undefined;

function collectGarbage(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  // Only this flavour gives memory back to the system.
  collect({ type: 'major', flavor: 'last-resort', execution: 'sync' });
}
