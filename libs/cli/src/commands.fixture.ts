import { surroundingsOf } from './context/surroundings.ts';
import { runCommand } from './tree.ts';

/** The place of a command in a test. */
export interface Place {
  env: NodeJS.ProcessEnv;
  cwd?: string;
  signal?: AbortSignal;
  /** The answers of the person, in order. */
  answers?: string[];
}

/** Runs a command in this process, as the program does, and returns the lines that it prints. */
export async function linesOf(place: Place, words: readonly string[]): Promise<string[]> {
  const { env, cwd = import.meta.dirname, signal = new AbortController().signal, answers = [] } = place;
  const lines: string[] = [];
  const output = (text: string) => void lines.push(...text.split('\n'));
  /** Collects pieces into lines. */
  let typed = '';
  const type = (piece: string) => {
    const parts = `${typed}${piece}`.split('\n');
    typed = parts.pop() ?? '';
    lines.push(...parts);
  };
  using owners = new DisposableStack();
  await runCommand(
    words,
    (common) => {
      const around = owners.use(surroundingsOf({ env, cwd, signal, output, typed: type, ...common }));
      around.log.level = 'fatal';
      // A spread would read the configuration at once.
      return Object.defineProperty(around, 'ask', { value: async () => answers.shift() });
    },
    output,
  );
  return lines;
}

/** Runs a command with `--json`, and returns the values that it prints. */
export async function jsonOf(place: Place, words: readonly string[]): Promise<unknown[]> {
  return (await linesOf(place, [...words, '--json'])).map((line) => JSON.parse(line));
}
