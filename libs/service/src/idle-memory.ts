import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface IdleMemoryOptions {
  /** The time without work after which memory is returned, in ms; default 5 s. */
  idleMs?: number;
  /** The growth of the heap since the last collection that is worth its time, in bytes; default 24 MiB. */
  leastBytes?: number;
  /** The time from one collection to the next, at least, in ms; default a minute. */
  restMs?: number;
}

/**
 * The share of the time in which a process with little work may be active: timers, probes, and the signs of life of
 * runs that wait for their models, of 2,000 runs a tenth on two quiet cores.
 */
const mostActive = 0.25;

/**
 * Returns the memory that V8 has taken and does not use to the system, once a process has little work: V8 by itself
 * keeps what the start or a burst of work has needed. A collection stops the process for some 50 to 100 ms.
 * Returns a function that ends this.
 */
export function returnIdleMemory({
  idleMs = 5_000,
  leastBytes = 24 * 1024 * 1024,
  restMs = 60_000,
}: IdleMemoryOptions = {}) {
  let before: EventLoopUtilization = performance.eventLoopUtilization();
  let heapBefore = 0;
  let lastAt = Number.NEGATIVE_INFINITY;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > mostActive || performance.now() - lastAt < restMs) return;
    // How much of the heap is in use, V8 knows only after a collection.
    if (process.memoryUsage().heapTotal - heapBefore < leastBytes) return;
    collectGarbage();
    heapBefore = process.memoryUsage().heapTotal;
    lastAt = performance.now();
  }, idleMs);
  timer.unref();
  return () => clearInterval(timer);
}

type Collect = (options: { type: 'major'; flavor: 'last-resort'; execution: 'sync' }) => void;
let collect: Collect | undefined;

/** Gives the memory that is not used back to the system. Stops the process for some 50 to 100 ms. */
export function collectGarbage(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  // Only this flavour gives memory back to the system.
  collect({ type: 'major', flavor: 'last-resort', execution: 'sync' });
}
