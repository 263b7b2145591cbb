import { Context, executeTool } from '@agentmesh/agent';
import { describe, expect, it } from 'vitest';
import { addPart, noTally } from './tally.ts';
import { readPart } from './text-file.ts';
import { fileProcessingTool } from './tool.ts';

const session = { id: 's1', appName: 'app', userId: 'u1', state: {} };
const origin = { invocationId: 'e-1', agentName: 'file_agent', session };

/** Returns the tool's progress and its result. */
async function work(
  megabytes: number,
  options: { attempt?: number; lastProgress?: Record<string, unknown> },
) {
  const run = executeTool(fileProcessingTool, { name: 'a.txt', megabytes }, new Context(origin, options));
  const said: Record<string, unknown>[] = [];
  for (;;) {
    const step = await run.next();
    if (step.done) return { said, end: step.value };
    said.push(step.value);
  }
}

const countFrom = (parts: number[]) =>
  parts.reduce((tally, part) => addPart(tally, readPart('a.txt', part)), noTally);

describe('process_large_file', () => {
  it('reports its progress, and in the end the contents of the file', async () => {
    const { said, end } = await work(2, {});
    expect(said).toMatchObject([
      { status: 'running', progress: '0%', estimatedSeconds: 1, attempt: 1, tally: noTally },
      { status: 'running', progress: '50%', estimatedSeconds: 1, attempt: 1, tally: countFrom([0]) },
    ]);
    expect(end).toMatchObject({ response: { status: 'completed', ...countFrom([0, 1]) }, isLastWord: true });
  });

  it('continues where an earlier attempt stopped, with the same result', async () => {
    const lastProgress = { status: 'running', tally: countFrom([0]) };
    const { said, end } = await work(2, { attempt: 2, lastProgress });
    expect(said).toMatchObject([{ progress: '50%', attempt: 2, tally: countFrom([0]) }]);
    expect(end).toMatchObject({ response: { ...countFrom([0, 1]), attempt: 2 } });
  });

  it('starts again after a progress that it cannot read', async () => {
    const { said } = await work(1, { attempt: 2, lastProgress: { status: 'pending' } });
    expect(said).toMatchObject([{ progress: '0%', tally: noTally }]);
  });
});

describe('a file', () => {
  it('is made of words and lines, a megabyte for each part, the same each time and another for each name', () => {
    const text = readPart('a.txt', 0);
    expect(text).toHaveLength(1_000_000);
    expect(text).toBe(readPart('a.txt', 0));
    expect(new Set([text, readPart('a.txt', 1), readPart('b.txt', 0)]).size).toBe(3);
    expect(addPart(noTally, 'one two\n three\n\n')).toMatchObject({ parts: 1, lines: 3, words: 3 });
  });
});
