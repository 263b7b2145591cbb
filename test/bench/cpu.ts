import { readdirSync, readFileSync } from 'node:fs';

/**
 * Returns the CPU time that all threads of a process have used, in µs. Linux counts it in ns in
 * `/proc/<pid>/task/<tid>/schedstat`; threads that have ended do not count.
 */
export function cpuOf(pid: number): number {
  let ns = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      ns += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // The thread has ended meanwhile.
    }
  }
  return ns / 1_000;
}
