import { setTimeout as delay } from 'node:timers/promises';
import type { Frame, JobInput, ToolCall, ToolResult } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { hopHeaders } from '../messages/carrier.ts';
import { jobOf } from './call-key.ts';

/** How often a caller's job is looked at, in ms: the longer it takes, the more seldom. */
const firstLookMs = 20;
const longestLookMs = 250;

export interface FollowJobOptions {
  tool: string;
  headers: Readonly<Record<string, string>>;
  /** How long the caller waits for the result, in ms; then the call goes on without it. */
  patienceMs: number;
  signal: AbortSignal;
}

/**
 * Puts the work of a long-running call into the tool's queue, where it outlives every process, and tells the caller what comes of it: all of
 * it when that is soon, else what is known when the caller's patience ends. The rest comes as updates of the call.
 */
export async function* followJob(
  mesh: Mesh,
  call: ToolCall & { callId: string },
  { tool, headers, patienceMs, signal }: FollowJobOptions,
): AsyncGenerator<Frame, void, void> {
  const job = jobOf(call, call.callId);
  const order: JobInput = { job, call };
  // Before the work can begin: its first words are told by the caller, too.
  await mesh.jobs.follow(tool, job, 0);
  await mesh.bus.enqueue(mesh.subjects.toolJob(tool), order, {
    messageId: `job:${job}`,
    headers: hopHeaders(headers),
  });
  const until = performance.now() + patienceMs;
  let said = 0;
  let last: unknown;
  for (let pauseMs = firstLookMs; ; pauseMs = Math.min(pauseMs * 1.5, longestLookMs)) {
    const isLast = performance.now() >= until;
    const { progress, result } = await mesh.jobs[isLast ? 'leave' : 'follow'](tool, job, said);
    for (const { seq, response } of progress) {
      yield { type: 'progress', data: response };
      said = seq;
      last = response;
    }
    if (result) {
      yield { type: 'result', data: result };
      return;
    }
    if (isLast) break;
    await delay(pauseMs, undefined, { signal });
  }
  yield { type: 'result', data: stateOfThings(last) };
}

/** The first word of a call whose work goes on. */
function stateOfThings(last: unknown): ToolResult {
  return { response: last ?? { status: 'pending' }, isLastWord: false };
}
