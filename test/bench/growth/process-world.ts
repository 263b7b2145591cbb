import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endProcess, spawnGuarded } from '@agentmesh/testing';
import type { Prompt } from './prompts.ts';
import type { World } from './world.ts';

/** Starts a world in memory, in a process of its own. */
export function processWorld(kind: 'agentmesh' | 'adk', prompt: Prompt): World & AsyncDisposable {
  const child = spawnGuarded(
    [process.execPath, join(import.meta.dirname, 'world-process.ts'), kind, prompt],
    { cwd: import.meta.dirname, stdio: ['pipe', 'pipe', 'inherit'] },
  );
  if (!child.stdout || !child.stdin) throw new Error('the process has no pipes');
  const { stdin } = child;
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (question: object): Promise<{ session?: string; ms?: number }> => {
    stdin.write(`${JSON.stringify(question)}\n`);
    const { value, done } = await answers.next();
    if (done) throw new Error(`the process of ${kind} ended`);
    return JSON.parse(value);
  };
  return {
    name: `${kind === 'adk' ? 'ADK' : 'agentmesh'}: in memory, prompt: ${prompt}`,
    isSlow: kind === 'adk',
    makeSession: async (past) => (await ask({ past })).session ?? '',
    turn: async (sessionId) => (await ask({ turn: sessionId })).ms ?? Number.NaN,
    [Symbol.asyncDispose]: () => endProcess(child, 'SIGKILL'),
  };
}
