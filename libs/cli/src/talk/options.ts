import type { CommandOption } from '../command/command.ts';
import type { Options } from '../command/options.ts';

/** The option with the user of a conversation. */
export const userOption: CommandOption = {
  flags: '--user <id>',
  meaning: 'the user of the sessions',
  default: 'dev',
};

/** The option with the session of a conversation. */
export const sessionOption: CommandOption = {
  flags: '--session <id>',
  meaning: 'the session; it is made if it does not exist; default: a new one',
};

/** The option that tells what a silent run waits for, also without a terminal. */
export const verboseOption: CommandOption = {
  flags: '--verbose',
  meaning: 'says on stderr what a silent run waits for, also when stderr is no terminal',
};

export function userOf(options: Options): string {
  return options.text('user') ?? 'dev';
}
