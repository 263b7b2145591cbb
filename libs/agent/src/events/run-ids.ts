import type { Event } from '@agentmesh/protocol';

/** One of the runs of an invocation: the one that began it, or one that continues it by an id of its own. */
export interface RunId {
  invocationId: string;
  resume?: string | undefined;
}

/** Names a run: who has a session, or waits for it. */
export function runName({ invocationId, resume }: RunId): string {
  return resume === undefined ? invocationId : JSON.stringify([invocationId, resume]);
}

/** How the names of all runs begin that continue an invocation. */
export function continuationPrefix(invocationId: string): string {
  return `${JSON.stringify([invocationId]).slice(0, -1)},`;
}

/** The run of a {@link runName}. */
export function runOfName(name: string): RunId {
  if (!name.startsWith('["')) return { invocationId: name };
  try {
    const [invocationId = name, resume] = JSON.parse(name) as string[];
    return { invocationId, resume };
  } catch {
    // Publishers choose ids as they like.
    return { invocationId: name };
  }
}

/** What ids are made of that differ for each run of an invocation. */
export function runKey({ invocationId, resume }: RunId): string {
  return resume === undefined ? invocationId : `${invocationId}/${resume}`;
}

/** Id of the event of what the user says to a run, in one of its sessions: a second start finds it there and does not say it twice. */
export function messageEventId({ invocationId, resume }: RunId, sessionId: string): string {
  return [invocationId, sessionId, ...(resume === undefined ? [] : [resume])].join('/');
}

/** Id of the event in which a run's failure stands in its session. */
export function failureEventId(run: RunId): string {
  return `${runKey(run)}/failure`;
}

/** Does the event tell that a run of its invocation failed? */
export function isFailure({ id, invocationId, errorCode }: Event): boolean {
  return errorCode !== undefined && id.startsWith(`${invocationId}/`) && id.endsWith('/failure');
}
