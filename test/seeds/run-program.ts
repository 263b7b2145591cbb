import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  endProcess,
  latestFunctionResponses,
  type ModelRequest,
  type ModelScript,
  spawnGuarded,
  startScriptedGemini,
} from '@agentmesh/testing';

/** The behaviour of a model in one program, and the expected results. */
export interface Play {
  /** A tool that the program declares, which selects the play. */
  tool: string;
  script: ModelScript;
  /** The tools whose results the model gets, in order. */
  results: readonly string[];
  /** The pattern of the program's last output. */
  output: RegExp;
}

export interface ProgramRun {
  /** The tool of the play, if there was one. */
  play: string | undefined;
  results: string[];
  output: string;
  /** The problems; empty for a successful run. */
  problems: string[];
}

export interface RunProgramOptions {
  folder: string;
  name: string;
  /** The program in JavaScript. */
  code: string;
  plays: readonly Play[];
  /** The time limit, in ms; default 30 s. */
  timeoutMs?: number;
}

/** Runs a program in its own process with a scripted model, and compares the run with its play. */
export async function runProgram(options: RunProgramOptions): Promise<ProgramRun> {
  const { folder, name, code, plays, timeoutMs = 30_000 } = options;
  const file = join(folder, `${name}.js`);
  await mkdir(folder, { recursive: true });
  await writeFile(file, code);
  let play: Play | undefined;
  // The first request selects the play; other agents of the program may not have the tool.
  const script: ModelScript = (request) => {
    play ??= plays.find(({ tool }) => declares(request, tool));
    if (play) return play.script(request);
    return { error: { status: 400, message: `no play for the tools ${namesOf(request).join(', ')}` } };
  };
  await using model = await startScriptedGemini({ script });
  const { output, end } = await execute(file, folder, model.url, timeoutMs);
  const results = model.requests.flatMap((request) =>
    latestFunctionResponses(request).map((response) => response.name ?? ''),
  );
  const problems = [...(end === undefined ? [] : [end]), ...problemsOf(play, results, output)];
  return { play: play?.tool, results, output, problems };
}

async function execute(file: string, cwd: string, url: string, timeoutMs: number) {
  const { PATH } = process.env;
  const env = { ...(PATH && { PATH }), GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'scripted' };
  // There is no input: a program that asks a person gets the end of the input.
  const child = spawnGuarded([process.execPath, file], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    void endProcess(child, 'SIGKILL');
  }, timeoutMs);
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error('no output');
  const [said, complained, [code, signal]] = await Promise.all([
    text(stdout),
    text(stderr),
    once(child, 'exit'),
  ]);
  clearTimeout(timer);
  const bad = late ? `no end after ${timeoutMs} ms` : signal ? `ended by ${signal}` : `exit code ${code}`;
  return { output: `${said}${complained}`, end: code === 0 ? undefined : bad };
}

function problemsOf(play: Play | undefined, results: readonly string[], output: string): string[] {
  if (!play) return ['no play of ours fits it'];
  const problems: string[] = [];
  if (results.join() !== play.results.join()) {
    problems.push(`results came back of [${results.join(', ')}] and not of [${play.results.join(', ')}]`);
  }
  if (!play.output.test(output)) problems.push(`its output does not hold ${play.output}`);
  return problems;
}

function namesOf({ tools }: ModelRequest): string[] {
  return tools.map(({ name }) => name ?? '');
}

function declares(request: ModelRequest, tool: string): boolean {
  return namesOf(request).includes(tool);
}
