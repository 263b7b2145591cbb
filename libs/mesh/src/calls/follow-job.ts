import { setTimeout as delay } from 'node:timers/promises';
import type { Frame, JobInput, ToolCall } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { hopHeaders } from '../messages/carrier.ts';
import { jobOf } from './call-key.ts';
import { responseForCaller } from './tell-job.ts';
import { untilDone } from './work-in-hand.ts';

/** Pauses between two looks at a caller's job, in ms: the first and the longest. */
const firstLookMs = 20;
const longestLookMs = 250;

export interface FollowJobOptions {
  tool: string;
  headers: Readonly<Record<string, string>>;
  /** Time that the caller waits for the result, in ms. Then the call goes on without it. */
  patienceMs: number;
  signal: AbortSignal;
}

/**
 * Puts the work of a long-running call into the tool's queue, where it outlives every process, and yields its
 * progress to the caller. If the result comes while the caller waits, the result is the last frame; otherwise
 * the last frame is the latest progress, and the rest comes as updates of the call. A result that an update
 * tells counts as one that comes later.
 */
export async function* followJob(
  mesh: Mesh,
  call: ToolCall & { callId: string },
  { tool, headers, patienceMs, signal }: FollowJobOptions,
): AsyncGenerator<Frame, void, void> {
  const job = jobOf(call, call.callId);
  const order: JobInput = { job, call };
  // The caller waits while the store or NATS is away: the job goes on, and only its record knows the result.
  const look = <T>(run: () => Promise<T>) =>
    untilDone(run, { signal, log: mesh.log, step: `follow a job of ${tool}` });
  // Must come before the work can begin: the caller also reports the first progress.
  await look(() => mesh.jobs.follow(tool, job, 0));
  await look(() =>
    mesh.bus.enqueue(mesh.subjects.toolJob(tool), order, {
      messageId: `job:${job}`,
      headers: hopHeaders(headers),
    }),
  );
  const until = performance.now() + patienceMs;
  let lastSeq = 0;
  let lastProgress: unknown;
  for (let pauseMs = firstLookMs; ; pauseMs = Math.min(pauseMs * 1.5, longestLookMs)) {
    const isLast = performance.now() >= until;
    const { progress, end } = await look(() => mesh.jobs[isLast ? 'leave' : 'follow'](tool, job, lastSeq));
    for (const { seq, response } of progress) {
      yield { type: 'progress', data: response };
      lastSeq = seq;
      lastProgress = response;
    }
    if (isLast || end) {
      yield { type: 'result', data: responseForCaller(end, call, lastProgress) };
      return;
    }
    await delay(pauseMs, undefined, { signal });
  }
}
