import { setTimeout as pause } from 'node:timers/promises';
import { type BaseTool, type Context, FunctionTool, LongRunningFunctionTool } from '@agentmesh/agent';
import { z } from 'zod';
import { counterKey } from './check/history.ts';
import type { CountWork } from './effects.ts';

/** Notes the effect of a call. The returned function notes that the tool has returned. */
function begin(count: CountWork, tool: string, context: Context | undefined): () => void {
  const { functionCallId: callId = '', invocationId = '' } = context ?? {};
  return count(tool, { callId, invocationId });
}

/** Notes a call in the session's state, and under a key that the user's sessions share. */
function noteCall(tool: string, op: string, context: Context | undefined): void {
  const callId = context?.functionCallId ?? '';
  context?.state.set(`${tool}_${op}`, callId);
  context?.state.set(`user:last_${tool}`, callId);
}

/**
 * Makes a tool of the agent's own process. It counts its calls and raises the counter of the session. Two runs at
 * the same time would lose an update.
 */
export function localCounter(name: string, count: CountWork): BaseTool {
  return new FunctionTool({
    name,
    description: 'Counts this call.',
    parameters: z.object({ op: z.string() }),
    async execute({ op }, context) {
      const end = begin(count, name, context);
      noteCall(name, op, context);
      context?.state.set(counterKey, Number(context.state.get(counterKey) ?? 0) + 1);
      end();
      return { counted: context?.functionCallId };
    },
  });
}

/** Makes a tool for another process. It counts its calls; `bytes` is the size of a large result. */
export function remoteCounter(name: string, count: CountWork): BaseTool {
  return new FunctionTool({
    name,
    description: 'Counts this call.',
    parameters: z.object({ op: z.string(), bytes: z.number().optional() }),
    async execute({ op, bytes = 0 }, context) {
      const end = begin(count, name, context);
      noteCall(name, op, context);
      end();
      return { counted: context?.functionCallId, ...(bytes > 0 && { padding: 'x'.repeat(bytes) }) };
    },
  });
}

/** The time that a person has to answer a ticket, in ms. It is longer than a chaos run. */
const answerWithinMs = 3_600_000;

/**
 * Makes a long-running tool for another process. Without `pieces` it opens a ticket, which waits for an outcome
 * from outside. With `pieces` it works on a job with progress.
 */
export function longWork(name: string, count: CountWork): BaseTool {
  return new LongRunningFunctionTool({
    name,
    description: 'Does work that takes long.',
    parameters: z.object({ op: z.string(), pieces: z.number().optional() }),
    answerWithinMs,
    async execute({ op, pieces }, context) {
      const end = begin(count, name, context);
      if (pieces !== undefined) return workOn(op, pieces, context, end);
      end();
      return { status: 'pending', ticket: op };
    },
  });
}

/** The time for one piece of a job, in ms. */
const pieceMs = 150;

async function* workOn(op: string, pieces: number, context: Context | undefined, end: () => void) {
  const { abortSignal: signal, lastProgress } = context ?? {};
  let done = Number((lastProgress as { done?: number } | undefined)?.done ?? 0);
  try {
    for (; done < pieces; done += 1) {
      yield { status: 'running', done };
      await pause(pieceMs, undefined, { ...(signal && { signal }) });
    }
  } finally {
    end();
  }
  return { status: 'completed', outcome: op };
}

/** Makes a tool that counts only after a person has confirmed the call. */
export function confirmedCounter(name: string, count: CountWork): BaseTool {
  return new FunctionTool({
    name,
    description: 'Counts this call, if a person agrees.',
    parameters: z.object({ op: z.string() }),
    async execute({ op }, context) {
      const answer = context?.toolConfirmation;
      if (!answer) {
        context?.requestConfirmation({ hint: `Count ${op}?` });
        return { status: 'somebody has to agree' };
      }
      if (!answer.confirmed) return { status: 'refused', op };
      begin(count, name, context)();
      return { counted: context?.functionCallId };
    },
  });
}

/** Makes a tool that saves a file of the session, and a new version at a second call. */
export function fileSaver(name: string): BaseTool {
  return new FunctionTool({
    name,
    description: 'Saves a file.',
    usesArtifacts: true,
    parameters: z.object({ op: z.string() }),
    async execute({ op }, context) {
      const version = await context?.saveArtifact(`${op}.txt`, { text: `the file of ${op}` });
      return { saved: `${op}.txt`, version };
    },
  });
}
