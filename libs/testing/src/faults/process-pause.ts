import { setTimeout as pause } from 'node:timers/promises';

/** A paused process: it keeps its connections and its leases, but does not run. */
export interface PausedProcess extends Disposable {
  /** Lets the process continue as if no time had passed. Does nothing when it runs already or has ended. */
  resume(): void;
}

/**
 * Pauses a process (SIGSTOP) until it is resumed or the result is disposed. A long garbage collection or a
 * frozen machine has the same effect.
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
      // The process was killed while it was paused.
    }
  };
  return { resume, [Symbol.dispose]: resume };
}

/** Pauses a process for a time in ms, for example longer than a lease or an ack wait. */
export async function pauseProcessFor(
  pid: number,
  ms: number,
  { signal }: { signal?: AbortSignal } = {},
): Promise<void> {
  using _paused = pauseProcess(pid);
  await pause(ms, undefined, signal ? { signal } : {});
}

/**
 * Refuses ids of 0 and below, which mean groups of processes, and our own id, since a paused process cannot
 * resume itself.
 */
function assertOther(pid: number): void {
  if (Number.isInteger(pid) && pid > 0 && pid !== process.pid) return;
  throw new RangeError(`${pid} is not the process id of another process`);
}
