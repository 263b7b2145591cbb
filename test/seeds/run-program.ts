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

/** How a model behaves towards one program, and what must come of it. */
export interface Play {
  /** A tool that the program declares: by it the play is chosen. */
  tool: string;
  script: ModelScript;
  /** The tools whose results come back to the model, in order. */
  results: readonly string[];
  /** What the program says at the end. */
  output: RegExp;
}

export interface ProgramRun {
  /** The tool of the play, if there was one. */
  play: string | undefined;
  results: string[];
  output: string;
  /** What went wrong; empty when all went as it should. */
  problems: string[];
}

export interface RunProgramOptions {
  folder: string;
  name: string;
  /** JavaScript. */
  code: string;
  plays: readonly Play[];
  /** Default 30 s. */
  timeoutMs?: number;
}

/** Runs a program as a process of its own against a scripted model, and looks whether it did what its play says. */
export async function runProgram(options: RunProgramOptions): Promise<ProgramRun> {
  const { folder, name, code, plays, timeoutMs = 30_000 } = options;
  const file = join(folder, `${name}.js`);
  await mkdir(folder, { recursive: true });
  await writeFile(file, code);
  let play: Play | undefined;
  // The first request shows what the program is; its other agents may have none of its tools.
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
  // No input: a program that asks a person for something gets the end of it.
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
