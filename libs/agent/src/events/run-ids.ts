import type { Event } from '@agentmesh/protocol';

/** One run of an invocation: the run that began it, or a run with a separate id that continues it. */
export interface RunId {
  invocationId: string;
  resume?: string | undefined;
}

/** Names a run that has a session or waits for the session. */
export function runName({ invocationId, resume }: RunId): string {
  return resume === undefined ? invocationId : JSON.stringify([invocationId, resume]);
}

/** Returns the common prefix of the names of all runs that continue an invocation. */
export function continuationPrefix(invocationId: string): string {
  return `${JSON.stringify([invocationId]).slice(0, -1)},`;
}

/** Returns the run of a {@link runName}. */
export function runOfName(name: string): RunId {
  if (!name.startsWith('["')) return { invocationId: name };
  try {
    const [invocationId = name, resume] = JSON.parse(name) as string[];
    return { invocationId, resume };
  } catch {
    // Publishers may choose any id.
    return { invocationId: name };
  }
}

/** Returns the part that makes ids different for each run of an invocation. */
export function runKey({ invocationId, resume }: RunId): string {
  return resume === undefined ? invocationId : `${invocationId}/${resume}`;
}

/**
 * Returns the id of the event with the user's message to a run, in one of its sessions. A second start of the
 * run finds that event and does not commit it twice.
 */
export function messageEventId({ invocationId, resume }: RunId, sessionId: string): string {
  return [invocationId, sessionId, ...(resume === undefined ? [] : [resume])].join('/');
}

/** Returns the id of the event that records a run's failure in its session. */
export function failureEventId(run: RunId): string {
  return `${runKey(run)}/failure`;
}

/** Tells whether the event records the failure of a run of its invocation. */
export function isFailure({ id, invocationId, errorCode }: Event): boolean {
  return errorCode !== undefined && id.startsWith(`${invocationId}/`) && id.endsWith('/failure');
}
