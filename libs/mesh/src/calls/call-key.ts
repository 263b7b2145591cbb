import { createHash } from 'node:crypto';
import type { ToolCall } from '@agentmesh/protocol';

/**
 * The key of a call's result. An id is one call's within its session: nobody gets another user's result by guessing or repeating an id. A call that was made anew because
 * a person answered what it asked has a result of its own each time; the answer may come in a later invocation.
 */
export function keyOf({ context, answers }: ToolCall, callId: string): string {
  if (!context) return JSON.stringify([callId, ...(answers > 0 ? [answers] : [])]);
  const { app, user, session, invocationId } = context;
  return JSON.stringify([app, user, session, answers > 0 ? answers : invocationId, callId]);
}

/** Names the work of a call: one that comes again, from whichever process, has the same. */
export function jobOf(call: ToolCall, callId: string): string {
  return createHash('sha256').update(keyOf(call, callId)).digest('base64url');
}
