import type { MeshError, ToolCall, ToolResult } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { jobOf, keyOf } from './call-key.ts';
import { stoppedCall } from './keep-result.ts';
import { createHolder, defaultLeaseMs } from './take-work.ts';
import { responseForCaller } from './tell-job.ts';

/** The time for which a call stays given up, in ms: as long as a result is kept. */
const keptMs = 86_400_000;

/** The state of a call that its caller gave up: no replica begins it any more, it has a result, or one is at it. */
export type GivenUp = { state: 'given-up' } | { state: 'done'; result: ToolResult } | { state: 'held' };

/**
 * Gives up a call for whose answer nobody waits any more. A request may still lie in the socket of a paused
 * process, or be on its way: a replica that gets it later finds the reason as the result, and begins nothing.
 *
 * @throws MeshError `unavailable` when the store cannot be reached
 */
export async function giveUp(
  mesh: Pick<Mesh, 'bus' | 'callResults' | 'jobs'>,
  { tool, isJob }: { tool: string; isJob: boolean },
  call: ToolCall & { callId: string },
  reason: MeshError,
): Promise<GivenUp> {
  const { callId } = call;
  return isJob
    ? await giveUpJob(mesh, tool, call, jobOf(call, callId), reason)
    : await giveUpCall(mesh, tool, keyOf(call, callId), reason);
}

async function giveUpJob(
  mesh: Pick<Mesh, 'bus' | 'jobs'>,
  tool: string,
  call: ToolCall,
  job: string,
  reason: MeshError,
): Promise<GivenUp> {
  const taken = await mesh.jobs.take(tool, job, createHolder(mesh), defaultLeaseMs);
  if (taken.state === 'busy') return { state: 'held' };
  if (taken.state === 'done') return { state: 'done', result: responseForCaller(taken, call) };
  await mesh.jobs.finish(tool, job, stoppedCall(reason));
  return { state: 'given-up' };
}

async function giveUpCall(
  mesh: Pick<Mesh, 'bus' | 'callResults'>,
  tool: string,
  key: string,
  reason: MeshError,
): Promise<GivenUp> {
  const taken = await mesh.callResults.take(tool, key, createHolder(mesh), defaultLeaseMs);
  if (taken.state === 'busy') return { state: 'held' };
  if (taken.state === 'done') return { state: 'done', result: taken.result };
  await mesh.callResults.put(tool, key, stoppedCall(reason), keptMs);
  return { state: 'given-up' };
}
