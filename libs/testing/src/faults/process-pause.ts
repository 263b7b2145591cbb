import { setTimeout as pause } from 'node:timers/promises';

/** A process that stands still: it holds its connections and its leases, and hears nothing. */
export interface PausedProcess extends Disposable {
  /** It goes on as if no time had passed. No-op when it does already, or has ended. */
  resume(): void;
}

/**
 * Stops a process (SIGSTOP) until it is resumed or the result disposed: what a long garbage collection or a frozen machine does to it.
 *
 * @throws Error `ESRCH` when there is no such process
 */
export function pauseProcess(pid: number): PausedProcess {
  assertOther(pid);
  process.kill(pid, 'SIGSTOP');
  let paused = true;
  const resume = () => {
    if (!paused) return;
    paused = false;
    try {
      process.kill(pid, 'SIGCONT');
    } catch {
      // Killed while it was paused.
    }
  };
  return { resume, [Symbol.dispose]: resume };
}

/** Stops a process for a time, in ms: past a lease or an acknowledgement's wait, say. */
export async function pauseProcessFor(
  pid: number,
  ms: number,
  { signal }: { signal?: AbortSignal } = {},
): Promise<void> {
  using _paused = pauseProcess(pid);
  await pause(ms, undefined, signal ? { signal } : {});
}

/** 0 and below mean groups of processes, and nobody would wake us up again. */
function assertOther(pid: number): void {
  if (Number.isInteger(pid) && pid > 0 && pid !== process.pid) return;
  throw new RangeError(`${pid} is no process id of another process`);
}
