#!/usr/bin/env node
import { MeshError } from '@agentmesh/protocol';
import { WrongUsage } from './command/wrong-usage.ts';
import { runCommand } from './commands.ts';
import { surroundingsOf } from './context/surroundings.ts';

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
  let around: ReturnType<typeof surroundingsOf> | undefined;
  const surroundings = (common: { context?: string; json?: boolean }) => {
    around = surroundingsOf({ env, cwd: process.cwd(), signal, output, ...common });
    return around;
  };
  try {
    return (await runCommand(words, surroundings, output)) ? 0 : 1;
  } catch (thrown) {
    if (signal.aborted) return 130;
    const error = withAdvice(MeshError.from(thrown));
    const { code, message } = error;
    process.stderr.write(
      `${words.includes('--json') ? JSON.stringify({ error: { code, message } }) : message}\n`,
    );
    return thrown instanceof WrongUsage ? 2 : 1;
  } finally {
    around?.[Symbol.dispose]();
  }
}

/** Adds to the error of an absent mesh where to find one. */
function withAdvice(error: MeshError): MeshError {
  if (error.code !== 'unavailable') return error;
  const advice =
    'is the mesh running? Start one with agentmesh dev (in the repository npm start), or set NATS_URL and REDIS_URL to those of yours';
  return new MeshError('unavailable', `${error.message}\n${advice}`, { cause: error });
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // A second signal ends the command at once, and with it the programs that it has started.
    if (stop.signal.aborted) process.exit(130);
    stop.abort();
  });
}
process.exitCode = await main(process.argv.slice(2), stop.signal);
