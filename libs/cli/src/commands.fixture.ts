import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { surroundingsOf } from './context/surroundings.ts';
import { runCommand } from './tree.ts';

/** The place of a command in a test. */
export interface Place {
  env: NodeJS.ProcessEnv;
  cwd?: string;
  signal?: AbortSignal;
  /** The answers of the person, in order. */
  answers?: string[];
  /** Gets the questions that the person is asked. */
  questions?: string[];
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
      return Object.defineProperty(around, 'ask', {
        value: async (question: string) => {
          place.questions?.push(question);
          return answers.shift();
        },
      });
    },
    output,
  );
  return lines;
}

/** Runs a command with `--json`, and returns the values that it prints. */
export async function jsonOf(place: Place, words: readonly string[]): Promise<unknown[]> {
  return (await linesOf(place, [...words, '--json'])).map((line) => JSON.parse(line));
}

/** The program `agentmesh`. */
export const mainProgram = join(import.meta.dirname, 'main.ts');

/** The end of a program: a process that does not end within 50 s is killed, and then has the exit code -1. */
export interface Ended {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Runs the command in a process of its own, as a person does. */
export function runProgram(
  words: readonly string[],
  env: Record<string, string> = {},
  cwd = process.cwd(),
): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, env: { PATH: process.env.PATH, ...env }, timeout: 50_000 };
    const child = execFile(process.execPath, [mainProgram, ...words], options, (_error, stdout, stderr) =>
      resolve({ exitCode: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}
