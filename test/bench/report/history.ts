import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import type { Verdict } from './goals.ts';

/** A line of the history: the figures of the goals at a commit. */
export interface Entry {
  /** The time of the benchmark, ISO 8601. */
  time: string;
  commit: string;
  /** True if files differed from the commit. */
  isChanged: boolean;
  machine: { cores: number; node: string };
  rounds: number;
  goals: Pick<Verdict, 'what' | 'unit' | 'goal' | 'figure' | 'floor' | 'verdict'>[];
}

const file = join(import.meta.dirname, '../history.jsonl');

export function entryOf(verdicts: readonly Verdict[], rounds: number): Entry {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  return {
    time: new Date().toISOString(),
    commit: git('rev-parse', '--short', 'HEAD'),
    isChanged: git('status', '--porcelain') !== '',
    machine: { cores: cpus().length, node: process.version },
    rounds,
    goals: verdicts.map(({ what, unit, goal, figure, floor, verdict }) => ({
      ...{ what, unit, goal, verdict },
      ...(figure !== undefined && { figure }),
      ...(floor !== undefined && { floor }),
    })) as Entry['goals'],
  };
}

/** Adds an entry to the history. Returns all entries, the oldest first. */
export function keep(entry: Entry): Entry[] {
  appendFileSync(file, `${JSON.stringify(entry)}\n`);
  return readHistory();
}

function readHistory(): Entry[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Entry);
}
