import type { Logger, ServiceConfig } from '@agentmesh/service';
import type { Options } from './options.ts';

/** The surroundings of a command: the mesh that it acts on, the log, and the output. */
export interface Surroundings {
  /** The configuration of the mesh. It is read at the first use. @throws MeshError for a wrong one */
  readonly config: ServiceConfig;
  /** The environment with the variables of the mesh, and the place that named the mesh. */
  readonly mesh: { env: NodeJS.ProcessEnv; source: string; isOneProcess: boolean };
  /** The address of the gateway. @throws MeshError as `config` */
  readonly gatewayUrl: string;
  /** The API key, or the token, that the gateway wants; undefined for a gateway that wants none. */
  readonly gatewayKey: string | undefined;
  readonly log: Logger;
  /** The folder in which the command runs. */
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Prints a line for people. With `--json` it prints nothing. */
  print(line: string): void;
  /** Prints a part of a longer output: the text for people, or the value as a line of JSON with `--json`. */
  write(part: { text: string; json: unknown }): void;
  /** Prints a piece of a line for people, as it is. With `--json` it prints nothing. */
  type(piece: string): void;
  /** True when a person sees stderr. */
  readonly isTerminal: boolean;
  /** Prints a remark for people on stderr, beside the output. With `--json` it prints nothing. */
  remark(line: string): void;
  /** Asks the person a question. Returns undefined at the end of the input. */
  ask(question: string): Promise<string | undefined>;
}

/** The result of a command: lines for people, and the same as a value for `--json`. */
export interface Report {
  lines: readonly string[];
  json: unknown;
  /** True when the command has found a problem: the exit code is then 1. */
  failed?: boolean;
}

/** An option of a command. */
export interface CommandOption {
  /** The option as it is written: `--user <name>`, `--yes`. */
  flags: string;
  meaning: string;
  default?: string;
  /** The values of the option, if they are a few words. */
  choices?: readonly string[];
  /** True for an option that may be given several times. */
  isList?: true;
}

/** A command of the tree. */
export interface Command {
  /** The arguments: `<app> [user]`, and `<text...>` for all further words. */
  usage: string;
  meaning: string;
  options?: readonly CommandOption[];
  /** More help: examples, files. */
  more?: string;
  /** Carries the command out. A command with a longer output writes it as it comes, and returns nothing. */
  run(args: string[], around: Surroundings, options: Options): Promise<Report | undefined>;
}

/** All commands by their words. */
export type Commands = Record<string, Command>;

/** Returns a report of a list: the lines, or a sentence when there are none. */
export function listReport<T>(items: readonly T[], lineOf: (item: T) => string): Report {
  return { lines: items.length === 0 ? ['there are none'] : items.map(lineOf), json: items };
}
