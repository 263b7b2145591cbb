// Plain JavaScript for Node >= 20, because it runs before anything is installed.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const forwarded = ['SIGTERM', 'SIGHUP', 'SIGINT'];

/** An error that ends the program with a message and an exit code, without a stack. */
export class Stop extends Error {
  constructor(message, exitCode) {
    super(message);
    this.exitCode = exitCode;
  }
}

export function step(text) {
  console.log(`• ${text}`);
}

/**
 * Runs a program to its end. Returns its exit code and, when `quiet`, its output. Passes signals on to the
 * program and outlives it, so that this process can clean up afterwards.
 */
export function run(command, args, { quiet = false, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit', ...options });
    const output = [];
    child.stdout?.on('data', (chunk) => output.push(chunk));
    child.stderr?.on('data', (chunk) => output.push(chunk));
    const pass = (signal) => {
      // A terminal sends Ctrl-C to the whole process group. If we passed it on, the child would take it for a
      // second Ctrl-C, which means "at once".
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    };
    for (const signal of forwarded) process.on(signal, pass);
    // When npm gets a signal it ends without passing it on. A process without its parent therefore stops as
    // after a signal.
    const parent = process.ppid;
    const orphanWatch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(orphanWatch);
      child.kill('SIGTERM');
    }, 500);
    const done = () => {
      clearInterval(orphanWatch);
      for (const signal of forwarded) process.off(signal, pass);
    };
    child.on('error', (error) => {
      done();
      reject(error);
    });
    child.on('close', (code, signal) => {
      done();
      const exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
      resolve({ exitCode, output: Buffer.concat(output).toString() });
    });
  });
}

/** Runs a program without showing its output, unless it fails. @throws Stop with the program's exit code */
export async function runQuietly(command, args, what, options = {}) {
  const { exitCode, output } = await run(command, args, { ...options, quiet: true });
  if (exitCode === 0) return;
  process.stderr.write(output);
  throw new Stop(`${what} failed (exit code ${exitCode}); its output is above`, exitCode);
}
