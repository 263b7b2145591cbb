import type { Command, Commands, Surroundings } from './command/command.ts';
import { completionCommand } from './command/completion.ts';
import { runWords, type Tree, writeReport } from './command/program.ts';
import { commandTable } from './command-table.ts';
import { groups } from './groups.ts';
import { modules } from './modules.ts';

type Row = Omit<Command, 'run'> & { name: string; module: string };

/** The tree of commands. A command loads its module when it runs, so that help needs no library. */
export const tree: Tree = { commands: lazyCommands(), groups };

function lazyCommands(): Commands {
  const rows = commandTable
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Row);
  const commands = rows.map(({ name, module, ...about }): [string, Command] => [
    name,
    {
      ...about,
      async run(...given) {
        const loaded = (await modules[module]?.())?.[name];
        if (!loaded) throw new Error(`the module ${module} has no command ${name}; run npm run generate`);
        return await loaded.run(...given);
      },
    },
  ]);
  return { ...Object.fromEntries(commands), completion: completionCommand(() => tree) };
}

/** Makes the surroundings of the command that was found, with the options of every command. */
export type MakeSurroundings = (common: {
  context?: string;
  json?: boolean;
}) => Surroundings | Promise<Surroundings>;

/**
 * Runs the command that the words begin with. Returns whether it found no problem.
 *
 * @throws WrongUsage for wrong words; MeshError when the command fails
 */
export async function runCommand(
  words: readonly string[],
  surroundings: MakeSurroundings,
  print: (text: string) => void,
): Promise<boolean> {
  let isFine = true;
  await runWords(
    tree,
    words,
    async (command, args, options, common) => {
      const around = await surroundings(common);
      const report = await command.run(args, around, options);
      writeReport(report, around);
      isFine = report?.failed !== true;
    },
    print,
  );
  return isFine;
}
