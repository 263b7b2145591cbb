import { type InvocationRef, runName, type UserOwner } from '@agentmesh/agent/internal';
import type { Keys, SessionRef } from '@agentmesh/protocol';

/** Returns the keys of a session for leases, and those of its user, by their names in scripts. */
export function sessionKeys(keys: Keys, ref: SessionRef) {
  return {
    session: keys.session(ref),
    waiting: keys.waiting(ref),
    waitingRuns: keys.waitingRuns(ref),
    ...userKeys(keys, ref),
  };
}

/** Returns the keys of the runs of a user, by their names in scripts. */
export function userKeys(keys: Keys, { appName, userId }: UserOwner) {
  return {
    running: keys.running(appName, userId),
    ready: keys.ready(appName, userId),
    queued: keys.queued(appName, userId),
  };
}

/** Returns the name of a run that continues its invocation, for scripts; '' for the run that began it. */
export function resumeName(ref: InvocationRef): string {
  return ref.resume === undefined ? '' : runName(ref);
}

/** Returns the key of the record of an invocation. */
export function invocationKey(keys: Keys, { appName, userId, invocationId }: InvocationRef): string {
  return keys.invocation(appName, userId, invocationId);
}
