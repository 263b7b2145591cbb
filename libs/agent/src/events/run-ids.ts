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
  return ownEventId(run, 'failure');
}

/** Returns the id of the event that closes the open calls of a cancelled run in the session of a call. */
export function closingEventId(run: RunId, sessionId: string): string {
  return `${ownEventId(run, 'closing')}/${sessionId}`;
}

/**
 * Returns the id of an event that the mesh adds to a run. The id of a message goes on with a slash after the
 * invocation's id, so no name of a session makes the two ids the same.
 */
function ownEventId({ invocationId, resume }: RunId, kind: string): string {
  return `${invocationId}:${kind}${resume === undefined ? '' : `/${resume}`}`;
}

/** Tells whether the event records the failure of a run of its invocation. */
export function isFailure({ id, invocationId, errorCode }: Event): boolean {
  const first = failureEventId({ invocationId });
  return errorCode !== undefined && (id === first || id.startsWith(`${first}/`));
}
