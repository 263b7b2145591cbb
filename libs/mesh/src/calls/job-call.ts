import type { CallRef, InvocationRef } from '@agentmesh/agent/internal';
import type { Job } from '@agentmesh/protocol';

/** Returns the call of a job in its session; undefined for a call that no agent made. */
export function callOf({ call: { callId, context } }: Job): (CallRef & InvocationRef) | undefined {
  if (!context?.operationSubject || callId === undefined) return undefined;
  const { app: appName, user: userId, session: sessionId, invocationId } = context;
  return { appName, userId, sessionId, callId, invocationId };
}
