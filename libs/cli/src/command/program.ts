import { createRequire } from 'node:module';
import { nearest } from '@agentmesh/protocol';
import { CommanderError, Option, Command as Program } from 'commander';
import type { Command, CommandOption, Commands, Report, Surroundings } from './command.ts';
import { Options } from './options.ts';
import { WrongUsage } from './wrong-usage.ts';

/** The options of every command. */
export interface CommonOptions {
  context?: string;
  json?: boolean;
}

/** The meanings of groups of commands, by their first words. */
export type Groups = Readonly<Record<string, string>>;

/** The parts from which the tree of commands is made. */
export interface Tree {
  commands: Commands;
  groups: Groups;
}

/** The version of the command, which is that of all packages of a release. */
const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

const exitCodes = `Exit codes: 0 done; 1 the command failed, or found a problem; 2 wrong usage; 130 stopped by Ctrl-C in the middle of its work.`;

/** The options of every command. */
export const commonFlags = ['--json', '--context', '--help'];

type Run = (command: Command, args: string[], options: Options, common: CommonOptions) => Promise<void>;

/** Makes the tree of commands, which calls `run` for the command of the words. */
function buildProgram(tree: Tree, run: Run, print: (text: string) => void): Program {
  const program = prepared(new Program('agentmesh'), print);
  program
    .description('Makes and runs a mesh of agents, talks to it, and operates it.')
    .addHelpText(
      'after',
      `\n--version prints the version.\n${exitCodes}\nThe mesh: --context, else NATS_URL and REDIS_URL, else .agentmesh/context.json of the project.`,
    );
  const groups = new Map<string, Program>();
  for (const [name, command] of Object.entries(tree.commands)) {
    const words = name.split(' ');
    const last = words.pop() ?? '';
    const [group] = words;
    let parent = program;
    if (group !== undefined) {
      const meaning = tree.groups[group] ?? '';
      parent = groups.get(group) ?? prepared(program.command(group), print).description(meaning);
      groups.set(group, parent);
    }
    addCommand(prepared(parent.command(last), print), name, command, run);
  }
  return program;
}

function addCommand(program: Program, name: string, command: Command, run: Run): void {
  program.description(command.meaning).allowExcessArguments(false);
  for (const argument of command.usage.split(' ').filter(Boolean)) program.argument(argument);
  for (const option of command.options ?? []) program.addOption(optionOf(option));
  program
    .option('--json', 'prints JSON: one value, or a value a line for an output that goes on')
    .option('--context <name>', 'the mesh: a name in .agentmesh/contexts, or the path of a context file');
  if (command.more) program.addHelpText('after', `\n${command.more}`);
  program.action(async () => {
    const { json, context, ...options } = program.opts();
    const common = { ...(json === true && { json }), ...(context !== undefined && { context }) };
    try {
      await run(command, program.args, new Options(options), common);
    } catch (thrown) {
      if (thrown instanceof Misuse) throw new WrongUsage(thrown.message, usageOf(name, command));
      throw thrown;
    }
  });
}

/** The error of a command for arguments that it cannot use. */
export class Misuse extends Error {}

function optionOf({ flags, meaning, default: value, choices, isList }: CommandOption): Option {
  const option = new Option(flags, meaning);
  if (value !== undefined) option.default(value);
  if (choices) option.choices([...choices]);
  if (isList) option.argParser((text: string, before: string[] = []) => [...before, text]);
  return option;
}

function prepared(program: Program, print: (text: string) => void): Program {
  return program
    .exitOverride()
    .helpCommand(false)
    .helpOption('-h, --help', 'prints this help')
    .showSuggestionAfterError(false)
    .configureOutput({ writeOut: (text) => print(text.trimEnd()), writeErr: () => {} });
}

/**
 * Finds the command of the words and runs it.
 *
 * @throws WrongUsage for an unknown command or option, and for missing or extra arguments
 */
export async function runWords(
  tree: Tree,
  words: readonly string[],
  run: Run,
  print: (text: string) => void,
): Promise<void> {
  if (words[0] === '--version' || words[0] === '-V') {
    print(version);
    return;
  }
  const asked = words[0] === 'help' ? [...words.slice(1), '--help'] : [...words];
  assertCommand(tree, asked);
  const program = buildProgram(tree, run, print);
  try {
    await program.parseAsync(asked, { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.exitCode === 0) return;
    throw usageError(tree, asked, thrown);
  }
}

/** Returns the name of the command, and the group, that the words begin with. */
function commandOf({ commands }: Tree, words: readonly string[]): { name?: string; group?: string } {
  const named = words.filter((word) => !word.startsWith('-'));
  const name = Object.keys(commands).find((each) => each.split(' ').every((word, at) => named[at] === word));
  const group = Object.keys(commands).some((each) => each.startsWith(`${named[0]} `)) ? named[0] : undefined;
  return { ...(name !== undefined && { name }), ...(group !== undefined && { group }) };
}

function assertCommand(tree: Tree, words: readonly string[]): void {
  if (words.some((word) => word === '--help' || word === '-h')) {
    if (words[0]?.startsWith('-')) return;
  } else if (words.length === 0) throw new WrongUsage('name a command');
  const { name, group } = commandOf(tree, words);
  if (name !== undefined) return;
  const [first = '', second] = words;
  const isComplete = second !== undefined && !second.startsWith('-');
  if (group !== undefined && !isComplete) {
    if (words.some((word) => word === '--help' || word === '-h')) return;
    throw new WrongUsage(`${group} needs one more word`, usageOfGroup(tree, group));
  }
  if (first.startsWith('-')) {
    const option = nearest(first, ['--help', '--version']);
    const advice = option && !commonFlags.includes(first) ? `; did you mean ${option}?` : '';
    throw new WrongUsage(`name a command before ${JSON.stringify(first)}${advice}`);
  }
  const names = Object.keys(tree.commands);
  const input =
    isComplete && (group !== undefined || isNearGroup(tree, first)) ? `${first} ${second}` : first;
  const meant = nearest(input, [...names, ...Object.keys(tree.groups)]);
  const advice = meant ? `; did you mean ${meant}?` : '';
  throw new WrongUsage(
    `there is no command ${JSON.stringify(input)}${advice}`,
    group === undefined ? undefined : usageOfGroup(tree, group),
  );
}

function isNearGroup({ groups }: Tree, word: string): boolean {
  return nearest(word, Object.keys(groups)) !== undefined;
}

/** Turns an error of the parser into ours, with the option or the argument that is wrong. */
function usageError(tree: Tree, words: readonly string[], { code, message }: CommanderError): WrongUsage {
  const { name } = commandOf(tree, words);
  const command = name === undefined ? undefined : tree.commands[name];
  const usage = name === undefined || !command ? undefined : usageOf(name, command);
  const text = message.replace(/^error: /, '').split('\n')[0] ?? '';
  if (code === 'commander.unknownOption') {
    const [, option = ''] = /'([^']+)'/.exec(text) ?? [];
    const known = [...commonFlags, ...(command?.options ?? []).map(({ flags }) => flags.split(' ')[0] ?? '')];
    const meant = nearest(option, known);
    return new WrongUsage(`${name} has no option ${option}${meant ? `; did you mean ${meant}?` : ''}`, usage);
  }
  if (code === 'commander.excessArguments') {
    const { extra } = extraArgument(name ?? '', command, words);
    return new WrongUsage(`${name} does not take ${JSON.stringify(extra)}`, usage);
  }
  return new WrongUsage(text, usage);
}

/** Returns the usage of a command in one line. */
function usageOf(name: string, { usage, options = [] }: Pick<Command, 'usage' | 'options'>): string {
  const words = ['agentmesh', name, usage, ...options.map(({ flags }) => `[${flags}]`)];
  return `usage: ${words.filter(Boolean).join(' ')}`;
}

function usageOfGroup({ commands }: Tree, group: string): string {
  const names = Object.entries(commands).filter(([name]) => name.startsWith(`${group} `));
  return names.map(([name, command]) => usageOf(name, command)).join('\n');
}

function extraArgument(name: string, command: Command | undefined, words: readonly string[]) {
  const args = words.filter((word) => !word.startsWith('-')).slice(name.split(' ').length);
  return { extra: args[(command?.usage ?? '').split(' ').filter(Boolean).length] ?? args.at(-1) };
}

/** Writes the result of a command: its lines, or its value as JSON. */
export function writeReport(report: Report | undefined, around: Pick<Surroundings, 'write'>): void {
  if (report) around.write({ text: report.lines.join('\n'), json: report.json });
}
