import type { Event } from '@agentmesh/protocol';

/** Id of the event of what the user says to an invocation, in one of its sessions: a second start finds it there and does not say it twice. */
export function messageEventId(invocationId: string, sessionId: string): string {
  return `${invocationId}/${sessionId}`;
}

/** Id of the event in which an invocation's failure stands in its session. */
export function failureEventId(invocationId: string): string {
  return `${invocationId}/failure`;
}

/** Does the event tell that an invocation failed? */
export function isFailure({ id, invocationId, errorCode }: Event): boolean {
  return errorCode !== undefined && id.startsWith(`${invocationId}/`) && id.endsWith('/failure');
}
