import { createInterface } from 'node:readline';
import { adkWorld, memoryWorld } from './memory-worlds.ts';
import type { Prompt } from './prompts.ts';

/**
 * Runs a world in its own process, so that the garbage of one world slows no other. Answers each line with a
 * line; see `process-world.ts`.
 */
const [kind = '', prompt = ''] = process.argv.slice(2);
// ADK prints a line per turn to the console.
console.info = () => {};
console.debug = () => {};
const world = kind === 'adk' ? adkWorld(prompt as 'none' | 'full') : memoryWorld(prompt as Prompt);

for await (const line of createInterface({ input: process.stdin })) {
  const { past, turn } = JSON.parse(line) as { past?: number; turn?: string };
  if (past !== undefined) reply({ session: await world.makeSession(past) });
  if (turn !== undefined) {
    const at = performance.now();
    await world.turn(turn);
    reply({ ms: performance.now() - at });
  }
}

function reply(answer: object): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
