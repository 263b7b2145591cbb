import type { Commands } from './command/command.ts';
import { completionCommand } from './command/completion.ts';
import { modules } from './modules.ts';
import { tree } from './tree.ts';

/** All commands by their words. Loads all modules; the program loads those that it needs. */
export const commands: Commands = {
  ...Object.assign({}, ...(await Promise.all(Object.values(modules).map((load) => load())))),
  completion: completionCommand(() => tree),
};

/**
 * Returns a line of JSON for each command: what its help needs, and the module that has it. The program reads
 * them from `command-table.ts`.
 */
export async function commandLines(): Promise<string[]> {
  const loaded = await Promise.all(
    Object.entries(modules).map(async ([module, load]) => [module, await load()] as const),
  );
  return loaded.flatMap(([module, found]) =>
    Object.entries(found).map(([name, { run: _run, ...about }]) =>
      JSON.stringify({ name, module, ...about }),
    ),
  );
}
