import type { Commands, Surroundings } from './command/command.ts';
import { completionCommand } from './command/completion.ts';
import { type Groups, runWords, type Tree, writeReport } from './command/program.ts';
import { devCommand } from './dev/dev-command.ts';
import { doctorCommand } from './inspect/doctor.ts';
import { listServicesCommand } from './inspect/list-services.ts';
import { logsCommand } from './inspect/logs.ts';
import { watchCommand } from './inspect/watch.ts';
import { accountCommands } from './operate/account-commands.ts';
import { operatorCommands } from './operate/operator-commands.ts';
import { provisionCommands } from './operate/provision-commands.ts';
import { streamCommands } from './operate/stream-commands.ts';
import { projectCommands } from './project/project-commands.ts';
import { pendingCommands } from './talk/pending.ts';
import { sessionCommands } from './talk/session-commands.ts';
import { talkCommands } from './talk/talk-commands.ts';

/** All commands by their words. */
export const commands: Commands = {
  ...projectCommands,
  dev: devCommand,
  ...talkCommands,
  ...sessionCommands,
  ...pendingCommands,
  ls: listServicesCommand,
  watch: watchCommand,
  logs: logsCommand,
  doctor: doctorCommand,
  ...operatorCommands,
  ...streamCommands,
  ...accountCommands,
  ...provisionCommands,
  completion: completionCommand(() => tree),
};

/** The meanings of the groups of commands. */
export const groups: Groups = {
  add: 'services of a project',
  pending: 'calls that wait for an answer',
  invocations: 'what messages caused: who did what, how long',
  'dead-letters': 'runs and jobs that no service could finish',
  orphans: 'messages that no service takes',
  streams: 'the work queues of NATS',
  cards: 'the services that the mesh knows',
  user: 'all data of a user',
  accounts: 'NATS accounts in the JWT form',
  rights: 'the rights of services on NATS and Redis',
};

const tree: Tree = { commands, groups };

/** Makes the surroundings of the command that was found, with the options of every command. */
export type MakeSurroundings = (common: { context?: string; json?: boolean }) => Surroundings;

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
      const around = surroundings(common);
      const report = await command.run(args, around, options);
      writeReport(report, around);
      isFine = report?.failed !== true;
    },
    print,
  );
  return isFine;
}
