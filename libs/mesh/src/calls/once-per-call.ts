import { setTimeout as delay } from 'node:timers/promises';
import { MeshError, type ToolCall, type ToolResult } from '@agentmesh/protocol';
import type { CallResults } from '@agentmesh/store';
import { keyOf } from './call-key.ts';
import { keepResult } from './keep-result.ts';

/**
 * Duration of the lease on a call's work, in ms: after this time without a renewal another replica may take
 * over.
 */
const leaseMs = 3_000;
/** Time between two looks of a waiting replica for the result, in ms. */
const pollMs = 50;

export interface OnceOptions {
  results: CallResults;
  tool: string;
  /** Unique to this attempt. */
  holder: string;
  resultTtlMs: number;
  signal: AbortSignal;
}

/**
 * Does the work of a call once, also when several replicas get the call at the same time: one replica takes
 * the lease on the work, and the other replicas wait for the result. When the replica with the lease dies,
 * another replica takes over.
 */
export async function oncePerCall(
  { results, tool, holder, resultTtlMs, signal }: OnceOptions,
  call: ToolCall,
  work: () => Promise<ToolResult>,
): Promise<ToolResult> {
  if (call.callId === undefined) return await work();
  const key = keyOf(call, call.callId);
  for (;;) {
    const taken = await results.take(tool, key, holder, leaseMs);
    if (taken.state === 'done') return taken.result;
    if (taken.state === 'taken') break;
    if (signal.aborted) throw MeshError.from(signal.reason);
    await delay(pollMs);
  }
  // If a renewal fails, the next renewal makes up for it, or another replica takes over.
  const renewal = setInterval(
    () => void results.take(tool, key, holder, leaseMs).catch(() => {}),
    leaseMs / 3,
  );
  try {
    return await keepResult(tool, await work(), (result) => results.put(tool, key, result, resultTtlMs));
  } catch (error) {
    await results.release(tool, key, holder).catch(() => {});
    throw error;
  } finally {
    clearInterval(renewal);
  }
}
