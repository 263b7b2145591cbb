#!/usr/bin/env node
import { MeshError } from '@agentmesh/protocol';
import type { Surroundings } from './command/command.ts';
import { WrongUsage } from './command/wrong-usage.ts';
import { runCommand } from './tree.ts';

const output = (line: string) => void process.stdout.write(`${line}\n`);

/** The oldest Node that runs the command (`engines` of the package). */
const oldestNode = [22, 12] as const;

/** Tells whether this Node is older than the command allows: npm warns only. */
function isOldNode(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1]);
}

/** Runs the command of the words. Returns the exit code. */
async function main(words: readonly string[], signal: AbortSignal): Promise<number> {
  const { env } = process;
  if (isOldNode()) {
    process.stderr.write(
      `agentmesh needs Node ${oldestNode.join('.')} or newer; this is Node ${process.versions.node}\n`,
    );
    return 1;
  }
  let around: (Surroundings & Disposable) | undefined;
  const surroundings = async (common: { context?: string; json?: boolean }) => {
    const { surroundingsOf } = await import('./context/surroundings.ts');
    around = surroundingsOf({ env, cwd: process.cwd(), signal, output, ...common });
    return around;
  };
  try {
    return (await runCommand(words, surroundings, output)) ? 0 : 1;
  } catch (thrown) {
    if (isPipeClosed) return 0;
    const error = withAdvice(errorOf(thrown));
    const { code, message, details } = error;
    // Work that Ctrl-C breaks off fails in many ways; a command that has something to say about it says so.
    if (signal.aborted && code !== 'cancelled') return 130;
    process.stderr.write(
      `${words.includes('--json') ? JSON.stringify({ error: { code, message, ...(details && { details }) } }) : message}\n`,
    );
    if (signal.aborted) return 130;
    return thrown instanceof WrongUsage ? 2 : 1;
  } finally {
    around?.[Symbol.dispose]();
  }
}

/** The names of errors that Node's own defects and ours have, and that no code throws for people. */
const defects = [TypeError, RangeError, ReferenceError, SyntaxError];

/**
 * Returns what went wrong in words for people. An error of the system, such as a full disk, has them itself. A
 * defect shows its place in the code to those who ask for it.
 */
function errorOf(thrown: unknown): MeshError {
  if (thrown instanceof MeshError || !(thrown instanceof Error)) return MeshError.from(thrown);
  const isDefect = defects.some((kind) => thrown instanceof kind);
  const message = isDefect ? defectWords(thrown) : thrown.message;
  return new MeshError(isDefect ? 'internal' : 'failed_precondition', message, { cause: thrown });
}

/** Returns the words for a defect: people cannot mend it, so its place in the code is for its report. */
function defectWords(defect: Error): string {
  const words = `a defect of agentmesh: ${defect.name}: ${defect.message}`;
  return isFine
    ? `${words}\n${defect.stack}`
    : `${words}; with MESH_LOG_LEVEL=debug it shows its place in the code`;
}

/** Adds to the error of an absent server where to find one. A server that answers has a problem of another kind. */
function withAdvice(error: MeshError): MeshError {
  if (error.details?.absent === undefined) return error;
  const advice =
    'is the mesh running? Start one with agentmesh dev (in the repository npm start), or set NATS_URL and REDIS_URL to those of yours';
  return new MeshError('unavailable', `${error.message}\n${advice}`, { cause: error });
}

/** Tells whether the person wants to see what else is for developers alone. */
const isFine = ['debug', 'trace'].includes(process.env.MESH_LOG_LEVEL ?? '');
// Warnings of Node, such as those of experiments, tell the person of a command nothing.
if (!isFine) process.removeAllListeners('warning');
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (thrown) => {
    process.stderr.write(`${errorOf(thrown).message}\n`);
    process.exit(1);
  });
const stop = new AbortController();
let isPipeClosed = false;
// The reader of the output has gone, as in `agentmesh watch | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  isPipeClosed = true;
  stop.abort();
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // A second signal ends the command at once, and with it the programs that it has started.
    if (stop.signal.aborted) process.exit(130);
    stop.abort();
  });
}
process.exitCode = await main(process.argv.slice(2), stop.signal);
