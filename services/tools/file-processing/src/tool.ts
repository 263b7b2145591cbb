import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { LongRunningFunctionTool } from '@agentmesh/agent';
import { z } from 'zod';
import { addPart, noTally, type Tally, tallySchema } from './tally.ts';
import { readPart } from './text-file.ts';

/** Shortest time for a megabyte, in ms, to imitate a remote file. */
const partMs = 500;

/** The tool's progress: for people, and for a process that continues the work. */
const progressSchema = z.looseObject({ tally: tallySchema });

export const fileProcessingTool = new LongRunningFunctionTool({
  name: 'process_large_file',
  description: 'Counts the lines and the words of a large file, and takes its digest.',
  parameters: z.object({
    name: z.string().min(1).max(200).describe('Name of the file, such as report.txt.'),
    megabytes: z.number().int().min(1).max(200).describe('How large it is.'),
  }),
  async *execute({ name, megabytes }, context) {
    const { abortSignal: signal, attempt = 1, lastProgress } = context ?? {};
    const previous = progressSchema.safeParse(lastProgress);
    let tally = previous.success ? previous.data.tally : noTally;
    const worker = `${hostname()}/${process.pid}`;
    while (tally.parts < megabytes) {
      yield { ...howFar(tally, megabytes), worker, attempt, tally };
      await pause(partMs, undefined, { ...(signal && { signal }) });
      tally = addPart(tally, readPart(name, tally.parts));
    }
    return { status: 'completed', name, ...tally, worker, attempt };
  },
});

function howFar({ parts }: Tally, all: number) {
  return {
    status: 'running',
    progress: `${Math.floor((parts / all) * 100)}%`,
    estimatedSeconds: Math.ceil(((all - parts) * partMs) / 1000),
  };
}
