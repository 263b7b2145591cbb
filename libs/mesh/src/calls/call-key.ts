import { createHash } from 'node:crypto';
import type { ToolCall } from '@agentmesh/protocol';

/**
 * Returns the key of a call's result. The key contains the session, so an id means one call of that session:
 * no user gets the result of another user by guessing or repeating an id. A call that is made again after a
 * person answered its question has a new result each time. The answer may come in a later invocation.
 */
export function keyOf({ context, answers }: ToolCall, callId: string): string {
  if (!context) return JSON.stringify([callId, ...(answers > 0 ? [answers] : [])]);
  const { app, user, session, invocationId } = context;
  return JSON.stringify([app, user, session, answers > 0 ? answers : invocationId, callId]);
}

/** Returns the name of a call's work: the same for every repetition of the call, from any process. */
export function jobOf(call: ToolCall, callId: string): string {
  return createHash('sha256').update(keyOf(call, callId)).digest('base64url');
}
