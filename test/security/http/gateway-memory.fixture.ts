import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';

/** Returns the resident memory of a process, in MiB. */
function memoryOf(pid: number | undefined): number {
  const [, kib = ''] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1_024;
}

/** Watches a process until the end of the test. Returns a function that tells its greatest resident memory so far. */
export function watchMemory(pid: number | undefined): () => number {
  let most = memoryOf(pid);
  const timer = setInterval(() => {
    most = Math.max(most, memoryOf(pid));
  }, 20);
  onTestFinished(() => clearInterval(timer));
  return () => most;
}
