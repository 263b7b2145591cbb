import { setTimeout as delay } from 'node:timers/promises';
import { type Gateway, mix } from './operations.ts';

/** Users, so that no one of them comes to a limit for one user. */
const users = 64;

/** The result of a time under load. */
export interface LoadReport {
  operations: number;
  perSecond: number;
  /** The times of the operations, in ms. */
  times: number[];
  failures: string[];
  /** Operations that were left out because too many others were under way. */
  leftOut: number;
}

/** Carries out the mix with a number of operations at once, for a time in ms. */
export async function loadClosed(gateway: Gateway, inFlight: number, ms: number): Promise<LoadReport> {
  const report = emptyReport();
  const begin = performance.now();
  let next = 0;
  const worker = async () => {
    while (performance.now() - begin < ms) await carryOut(gateway, next++, report);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return finish(report, begin);
}

/** Begins operations of the mix at a rate, whatever they take, for a time in ms. */
export async function loadOpen(
  gateway: Gateway,
  { perSecond, most, ms }: { perSecond: number; most: number; ms: number },
): Promise<LoadReport> {
  const report = emptyReport();
  const begin = performance.now();
  const open = new Set<Promise<void>>();
  for (let n = 0; ; n += 1) {
    const at = (n / perSecond) * 1_000;
    if (at > ms) break;
    const early = at - (performance.now() - begin);
    if (early > 0) await delay(early);
    if (open.size >= most) {
      report.leftOut += 1;
      continue;
    }
    const one = carryOut(gateway, n, report).finally(() => open.delete(one));
    open.add(one);
  }
  await Promise.all(open);
  return finish(report, begin);
}

async function carryOut(gateway: Gateway, n: number, report: LoadReport): Promise<void> {
  const { name, once } = mix[n % mix.length] ?? mix[0] ?? { name: 'nothing', once: async () => {} };
  const begin = performance.now();
  try {
    await once(gateway, `user-${n % users}`);
    report.times.push(performance.now() - begin);
  } catch (error) {
    report.failures.push(`${name}: ${error instanceof Error ? error.message : error}`);
  }
}

const emptyReport = (): LoadReport => ({ operations: 0, perSecond: 0, times: [], failures: [], leftOut: 0 });

function finish(report: LoadReport, begin: number): LoadReport {
  const { times, failures } = report;
  const operations = times.length + failures.length;
  return { ...report, operations, perSecond: (times.length / (performance.now() - begin)) * 1_000 };
}

/** Returns the time below which a share of the times lies, in ms. */
export function quantile(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN;
}
