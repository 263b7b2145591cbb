import { openCards, openOrphans, type StoredDeadLetter } from '@agentmesh/bus';
import { cancelInvocation, deleteUserData, endOrphan, replayDeadLetter } from '@agentmesh/mesh';
import { MeshError, nearest } from '@agentmesh/protocol';
import { accountCommands } from './account-commands.ts';
import { provisionCommands } from './provision-commands.ts';
import { streamCommands } from './stream-commands.ts';
import { type Command, operatorOf, type Surroundings, withLetters, withMesh } from './surroundings.ts';
import { writeExport } from './write-export.ts';
import { usageOf, WrongUsage } from './wrong-usage.ts';

/** All commands by their words. */
export const commands: Record<string, Command> = {
  'dead-letters list': {
    usage: '[after-seq]',
    meaning: 'lists runs and jobs that no service could finish, oldest first, 50 at most',
    run: ([after = '0'], around) =>
      withLetters(around, async (letters) => {
        const result = await letters.list({ afterSeq: wholeNumber(after) });
        for (const stored of result) around.print(summaryOf(stored));
        if (result.length === 0) around.print('there are none');
      }),
  },
  'dead-letters show': {
    usage: '<seq>',
    meaning: 'prints a dead letter as JSON',
    run: ([seq], around) =>
      withLetters(around, async (letters) =>
        around.print(JSON.stringify(await letters.get(wholeNumber(seq)), null, 2)),
      ),
  },
  'dead-letters replay': {
    usage: '<seq>',
    meaning: 'runs a dead letter again as a new invocation, and removes it',
    run: ([seq], around) =>
      withLetters(around, async (letters) => {
        const stored = await letters.get(wholeNumber(seq));
        await withMesh(around, async (mesh) => {
          const { invocationId, agent } = await replayDeadLetter(mesh, stored.letter);
          await letters.remove(stored.seq);
          around.print(`invocation ${invocationId} of agent ${agent} has begun`);
        });
      }),
  },
  'dead-letters remove': {
    usage: '<seq>',
    meaning: 'removes a dead letter',
    run: ([seq], around) =>
      withLetters(around, async (letters) => {
        await letters.remove(wholeNumber(seq));
        around.print(`dead letter ${seq} is gone`);
      }),
  },
  'orphans list': {
    usage: '',
    meaning: 'lists subjects whose messages no service takes, such as runs for an agent that does not exist',
    async run(_, around) {
      await using queues = await openOrphans(operatorOf(around));
      const result = await queues.list();
      for (const { kind, subject, count } of result) around.print(`${subject}  ${kind}  messages: ${count}`);
      if (result.length === 0) around.print('there are none');
    },
  },
  'orphans bury': {
    usage: '<subject>',
    meaning: 'moves the messages of such a subject to the dead letters, and ends their runs',
    async run([subject], around) {
      if (!subject) throw wrongUsage('name the subject', 'orphans bury');
      await using queues = await openOrphans(operatorOf(around));
      await withMesh(around, async (mesh) => {
        let ended = 0;
        const count = await queues.bury(subject, async ({ kind, ...stored }) => {
          if (kind === 'run' && (await endOrphan(mesh, stored))) ended += 1;
        });
        if (count === 0) throw new MeshError('not_found', `there are no orphans under ${subject}`);
        around.print(`${count} moved to the dead letters, ${ended} of them runs that have ended now`);
      });
    },
  },
  ...streamCommands,
  'cards list': {
    usage: '',
    meaning: 'lists the agents and tools that the mesh knows, and whether a replica of each is up',
    async run(_, around) {
      await using cards = await openCards(operatorOf(around));
      const result = await cards.list();
      for (const card of result) {
        const app = card.kind === 'agent' && card.app !== undefined ? `  app ${card.app}` : '';
        const state = (await cards.isServed(card.name)) ? 'up' : 'no replica';
        around.print(`${card.kind}  ${card.name}  ${card.version}${app}  ${state}`);
      }
      if (result.length === 0) around.print('there are none');
    },
  },
  'cards remove': {
    usage: '<agent|tool> <name>',
    meaning: 'forgets a service that is gone for good, and its app',
    async run([kind, name], around) {
      if ((kind !== 'agent' && kind !== 'tool') || !name)
        throw wrongUsage('name the kind and the service', 'cards remove');
      await using cards = await openCards(operatorOf(around));
      await cards.remove(kind, name);
      around.print(`the card of ${kind} ${name} is gone`);
    },
  },
  cancel: {
    usage: '<app> <user> <session> <invocation>',
    meaning: 'cancels an invocation in all processes that work on it',
    run: ([appName, userId, sessionId, invocationId], around) =>
      withMesh(around, async (mesh) => {
        if (!appName || !userId || !sessionId || !invocationId) throw wrongUsage('name all four', 'cancel');
        const ref = { appName, userId, sessionId, invocationId };
        const { status } = await cancelInvocation(mesh, ref, 'an operator cancelled it');
        around.print(status === 'running' ? 'told all who work on it' : `it has ended: ${status}`);
      }),
  },
  'user export': {
    usage: '<app> <user> <folder>',
    meaning: 'writes all data of a user into a new folder (docs/privacy.md)',
    async run([appName, userId, folder], around) {
      if (!appName || !userId || !folder) throw wrongUsage('name all three', 'user export');
      await withMesh(around, async (mesh) =>
        around.print(JSON.stringify(await writeExport(mesh, { appName, userId }, folder))),
      );
    },
  },
  'user delete': {
    usage: '<app> <user> --yes',
    meaning: 'deletes all data of a user for good, and prints how much it was',
    async run(args, around) {
      const [appName, userId, more] = args.filter((each) => each !== '--yes');
      if (!appName || !userId || more !== undefined)
        throw wrongUsage('name an app and a user', 'user delete');
      if (!args.includes('--yes')) {
        const why = `this deletes all that is kept of user ${userId} in app ${appName}; say --yes if you mean it`;
        throw new MeshError('invalid_argument', why);
      }
      await withMesh(around, async (mesh) =>
        around.print(JSON.stringify(await deleteUserData(mesh, { appName, userId }))),
      );
    },
  },
  ...accountCommands,
  ...provisionCommands,
};

/** The parsed words of the user: help, of one command if it is named, or a command and its arguments. */
export type Wish = { help: string } | { command: Command; args: string[] };

/** Finds the command that the words begin with, before anything is configured. @throws WrongUsage */
export function findCommand(words: readonly string[]): Wish {
  const asksForHelp = words.some((word) => word === '--help' || word === '-h') || words[0] === 'help';
  const result = Object.entries(commands).find(([name]) =>
    name.split(' ').every((word, at) => words[at] === word),
  );
  const group = Object.keys(commands).some((name) => name.startsWith(`${words[0]} `)) ? words[0] : undefined;
  if (asksForHelp) return { help: usage(result?.[0] ?? group) };
  if (result) return { command: result[1], args: argumentsOf(result[0], words) };
  throw unknownCommand(words);
}

/**
 * Returns the arguments after the name of a command. @throws WrongUsage for more arguments than its usage
 * has: they would be ignored
 */
function argumentsOf(name: string, words: readonly string[]): string[] {
  const args = words.slice(name.split(' ').length);
  const maxArgs = (commands[name]?.usage ?? '').split(' ').filter(Boolean).length;
  const [extra] = args.slice(maxArgs);
  if (extra === undefined) return args;
  throw wrongUsage(`${name} does not take ${JSON.stringify(extra)}`, name);
}

function wrongUsage(problem: string, only?: string): WrongUsage {
  return new WrongUsage(problem, commands, only);
}

function unknownCommand(words: readonly string[]): WrongUsage {
  const [group = '', name] = words;
  if (group === '') return wrongUsage('name a command');
  const names = Object.keys(commands);
  if (name === undefined && names.some((each) => each.startsWith(`${group} `)))
    return wrongUsage(`${group} needs one more word`, group);
  const input = words.slice(0, 2).join(' ');
  const meant = nearest(input, names);
  return wrongUsage(`there is no command ${JSON.stringify(input)}${meant ? `; did you mean ${meant}?` : ''}`);
}

/** Runs the command that the words begin with. @throws MeshError `invalid_argument` with the usage */
export async function runCommand(words: readonly string[], surroundings: Surroundings): Promise<void> {
  const wish = findCommand(words);
  if ('help' in wish) surroundings.print(wish.help);
  else await wish.command.run(wish.args, surroundings);
}

function usage(only?: string): string {
  return usageOf(commands, only);
}

function wholeNumber(text = ''): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const problem =
    text === ''
      ? 'the number of the dead letter is missing'
      : `${JSON.stringify(text)} is no number of a dead letter`;
  throw wrongUsage(problem, 'dead-letters');
}

function summaryOf({ seq, letter }: StoredDeadLetter): string {
  const { subject, attempts, error, time } = letter;
  return `${seq}  ${new Date(time).toISOString()}  ${subject}  ${attempts} deliveries  ${error.code}: ${error.message}`;
}
