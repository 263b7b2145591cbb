import { setTimeout as delay } from 'node:timers/promises';
import { MeshError, type ToolCall, type ToolResult } from '@agentmesh/protocol';
import type { CallResults } from '@agentmesh/store';
import { keyOf } from './call-key.ts';
import { keepResult } from './keep-result.ts';

/** How long a claim holds without being renewed, in ms: so long nobody takes over the work of a replica that died. */
const claimMs = 3_000;
/** How often a waiting replica looks for the result, in ms. */
const lookMs = 50;

export interface OnceOptions {
  results: CallResults;
  tool: string;
  /** Unique to this attempt. */
  holder: string;
  resultTtlMs: number;
  signal: AbortSignal;
}

/**
 * Does the work of a call once, also when the call comes to several replicas at the same time: one claims it, the others wait for its
 * result. When that one dies, another takes the work over.
 */
export async function oncePerCall(
  { results, tool, holder, resultTtlMs, signal }: OnceOptions,
  call: ToolCall,
  work: () => Promise<ToolResult>,
): Promise<ToolResult> {
  if (call.callId === undefined) return await work();
  const key = keyOf(call, call.callId);
  for (;;) {
    const claim = await results.claim(tool, key, holder, claimMs);
    if (claim.state === 'done') return claim.result;
    if (claim.state === 'claimed') break;
    if (signal.aborted) throw MeshError.from(signal.reason);
    await delay(lookMs);
  }
  // A renewal that fails is made up for by the next one, or another replica takes over.
  const renewal = setInterval(
    () => void results.claim(tool, key, holder, claimMs).catch(() => {}),
    claimMs / 3,
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
