import { appendFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Execution, now } from './check/history.ts';

/** The call whose work a tool does. */
export interface CountedCall {
  callId: string;
  invocationId: string;
}

/** Notes the effect of a tool. The returned function notes that the tool has returned. */
export type CountWork = (tool: string, call: CountedCall) => () => void;

/** The notes of one process. */
export interface EffectNotes {
  count: CountWork;
  /** Notes that a run was delivered again. */
  redelivered(): void;
}

type Note =
  | (Execution & { kind: 'began'; id: string })
  | { kind: 'ended'; id: string; at: number }
  | { kind: 'redelivered' };

/**
 * Opens the notes of a process. The effects are outside of the mesh: each one is a line in a file, written in
 * one step, so that a tool has its effect while NATS and Redis are away, and a killed process leaves all of
 * its effects.
 *
 * @param folder holds the notes of all processes
 * @param life names the process, such as `add_remote/1#3`
 */
export function openEffects(folder: string, life: string): EffectNotes {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${encodeURIComponent(life)}.jsonl`);
  const write = (note: Note) => appendFileSync(file, `${JSON.stringify(note)}\n`);
  const [replica = life] = life.split('#');
  let count = 0;
  return {
    count(tool, call) {
      const id = `${life} ${++count}`;
      write({ kind: 'began', id, tool, ...call, replica, life, beganAt: now() });
      return () => write({ kind: 'ended', id, at: now() });
    },
    redelivered: () => write({ kind: 'redelivered' }),
  };
}

/** Reads the notes of all processes: the executions in the order of their beginnings. */
export function readEffects(folder: string): { executions: Execution[]; redeliveries: number } {
  mkdirSync(folder, { recursive: true });
  const notes = readdirSync(folder).flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line): Note => JSON.parse(line)),
  );
  const ends = new Map(notes.flatMap((note) => (note.kind === 'ended' ? [[note.id, note.at] as const] : [])));
  const executions = notes.flatMap((note): Execution[] => {
    if (note.kind !== 'began') return [];
    const { kind: _kind, id, ...execution } = note;
    const endedAt = ends.get(id);
    return [{ ...execution, ...(endedAt !== undefined && { endedAt }) }];
  });
  return {
    executions: executions.sort((one, other) => one.beganAt - other.beganAt),
    redeliveries: notes.filter(({ kind }) => kind === 'redelivered').length,
  };
}
