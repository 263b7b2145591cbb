import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

// The shell becomes the program (`exec`, so child.pid is the program's id) and leaves a guard behind, which
// reads descriptor 3. Our end of it closes when this process ends in any way, SIGKILL included. The guard
// then kills the program ($$) and removes a temporary folder ($0). A line on descriptor 3 ends the guard.
// Unlike PR_SET_PDEATHSIG this works on macOS and with worker threads.
const guarded = `
  ( trap '' INT TERM HUP
    read -r dismissed <&3 || { kill -KILL $$; [ "$0" = keep ] || rm -rf "$0"; }
  ) </dev/null >/dev/null 2>&1 &
  exec "$@" 3<&-`;

type Stdio = number | 'pipe' | 'inherit' | 'ignore';

export interface GuardedSpawnOptions {
  /** The settings of stdin, stdout and stderr; a number is an open file. */
  stdio: [Stdio, Stdio, Stdio];
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Tells whether only its own user may read the files that the program makes. */
  isPrivate?: boolean;
  /** A folder that is removed when this process dies before the program. */
  trash?: string;
}

/** Starts a program that ends when this process ends in any way. */
export function spawnGuarded(command: readonly string[], options: GuardedSpawnOptions): ChildProcess {
  const { stdio, env, cwd, trash = 'keep', isPrivate = false } = options;
  const script = isPrivate ? `umask 077${guarded}` : guarded;
  // The program gets a new session: Ctrl-C in a terminal reaches only our process, which then stops its
  // programs in order.
  const child = spawn('sh', ['-c', script, trash, ...command], {
    detached: true,
    stdio: [...stdio, 'pipe'],
    ...(env && { env }),
    ...(cwd !== undefined && { cwd }),
  });
  const guard = child.stdio[3] as Socket | null | undefined;
  guard?.unref();
  guard?.on('error', () => {});
  child.once('exit', () => guard?.end('dismissed\n'));
  return child;
}

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Sends a signal and waits for the end. Kills the process when it has not ended after `patienceMs`. */
export async function endProcess(
  child: ChildProcess,
  signal: 'SIGTERM' | 'SIGKILL',
  patienceMs = 5_000,
): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.ref();
  child.kill(signal);
  const impatient = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  await ended;
  clearTimeout(impatient);
}
