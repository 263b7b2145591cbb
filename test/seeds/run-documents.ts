import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FoundProgram, findPrograms, isSameProgram } from './find-programs.ts';
import { plays as sixPlays } from './plays.ts';
import { type Play, type ProgramRun, runProgram } from './run-program.ts';
import { makeWorkspace } from './workspace.ts';

export interface RunDocumentsOptions {
  log: (line: string) => void;
  /** The plays; default those of the six programs. */
  plays?: readonly Play[];
  timeoutMs?: number;
}

type Placed<T> = T & {
  /** The document and the line. */
  place: string;
  /** The other places of the same program. */
  again: string[];
};
type PlacedProgram = Placed<FoundProgram>;

export interface DocumentsRun {
  runs: Placed<ProgramRun>[];
  /** The places of pieces that run nothing. */
  pieces: string[];
}

/**
 * Runs each program of a folder's documents once, in a folder outside the project in which `@google/adk` is
 * our library.
 */
export async function runDocuments(documents: string, options: RunDocumentsOptions): Promise<DocumentsRun> {
  const { log, plays = sixPlays, timeoutMs } = options;
  const { programs, pieces } = await readDocuments(documents);
  await using workspace = await makeWorkspace();
  const { folder } = workspace;
  const run = async ({ place, again, code }: PlacedProgram, index: number) => ({
    place,
    again,
    ...(await runProgram({
      folder,
      name: `program-${index + 1}`,
      code,
      plays,
      ...(timeoutMs && { timeoutMs }),
    })),
  });
  const runs = await Promise.all(programs.map(run));
  for (const each of runs) report(each, log);
  for (const place of pieces) log(`${place}: a piece that runs nothing; left out`);
  const failed = runs.filter(({ problems }) => problems.length > 0).length;
  log(`${runs.length} programs ran, ${failed} failed`);
  return { runs, pieces };
}

async function readDocuments(folder: string) {
  const programs: PlacedProgram[] = [];
  const pieces: string[] = [];
  for (const name of (await readdir(folder)).toSorted()) {
    const found = await findPrograms(await readFile(join(folder, name), 'utf8'));
    pieces.push(...found.pieces.map((line) => `${name}:${line}`));
    for (const program of found.programs) {
      const place = `${name}:${program.line}`;
      const known = programs.find((each) => isSameProgram(each, program));
      if (known) known.again.push(place);
      else programs.push({ ...program, place, again: [] });
    }
  }
  return { programs, pieces };
}

function report(
  { place, again, play, results, output, problems }: DocumentsRun['runs'][number],
  log: (line: string) => void,
) {
  log(
    `${problems.length === 0 ? 'ok' : 'FAILED'} ${place} (${play ?? 'unknown'}), results of: ${results.join(', ') || 'none'}`,
  );
  for (const other of again) log(`  the same again: ${other}`);
  for (const problem of problems) log(`  problem: ${problem}`);
  for (const line of output.trim().split('\n')) log(`  | ${line}`);
}
