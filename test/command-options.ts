import { parseArgs } from 'node:util';

/** The error for a command line that cannot be carried out. Its message is one line. */
export class WrongUsage extends Error {}

/** An option of a command. */
export interface Option {
  /** The value as the usage shows it; absent for a switch. */
  value?: string;
  meaning: string;
}

/** Returns the text that explains a command of npm and its options. */
export function usageOf(command: string, options: Record<string, Option>): string {
  const rows = Object.entries(options).map(
    ([name, { value, meaning }]) => [[`--${name}`, value].filter(Boolean).join(' '), meaning] as const,
  );
  const width = Math.max(...rows.map(([words]) => words.length));
  const lines = rows.map(([words, meaning]) => `  ${words.padEnd(width)}  ${meaning}`);
  return `usage: npm run ${command} -- [options]\n${lines.join('\n')}`;
}

/** Reads the options of a command line; '' for a switch. @throws WrongUsage */
export function readOptions<Name extends string>(
  options: Record<Name, Option>,
  args: readonly string[],
): Partial<Record<Name, string>> {
  const isName = (name: string): name is Name => Object.hasOwn(options, name);
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries<Option>(options).map(
        ([name, { value }]) => [name, { type: value ? 'string' : 'boolean' }] as const,
      ),
    ),
    strict: false,
    tokens: true,
  });
  const values: Partial<Record<Name, string>> = {};
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional')
      throw new WrongUsage(`${JSON.stringify(token.value)} is no option; --help lists the options`);
    const { name, rawName, value } = token;
    if (!isName(name)) throw new WrongUsage(`there is no option ${rawName}; --help lists the options`);
    const option: Option = options[name];
    if (option.value === undefined && value !== undefined) throw new WrongUsage(`${rawName} takes no value`);
    if (option.value !== undefined && (value === undefined || value === '' || value.startsWith('--')))
      throw new WrongUsage(`${rawName} needs a value: ${rawName} ${option.value}, ${option.meaning}`);
    values[name] = value ?? '';
  }
  return values;
}
