import { setTimeout as delay } from 'node:timers/promises';
import { endOfRun, type InvocationRef, type UserOwner } from '@agentmesh/agent/internal';
import { assertOptions, MeshError, type OptionNames, type SessionRef } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { publishEnd } from '../messages/publish-event.ts';
import { cancelInvocation } from '../runs/cancel-invocation.ts';

/** The amount of a user's data that was deleted. */
export interface DeletedUserData {
  /** Sessions, including child sessions. */
  sessions: number;
  events: number;
  /** Files; versions are not counted. */
  artifacts: number;
  memories: number;
  credentials: number;
  /** Calls that waited for an answer. */
  pending: number;
  /** Results of remote tools, and jobs. */
  callResults: number;
  /** Keys of `user:` state. */
  stateKeys: number;
  /** False when the last pass still found data, because something keeps writing: call it again. */
  complete: boolean;
}

export interface DeleteUserOptions {
  /** Time for running invocations to stop, in ms; default 5,000. */
  graceMs?: number;
  /** Greatest number of passes; default 5. */
  maxPasses?: number;
  /** Stops the deletion between two sessions: a second call deletes the rest. */
  signal?: AbortSignal;
}

const optionNames: OptionNames<DeleteUserOptions> = { graceMs: true, maxPasses: true, signal: true };

const reason = 'all that is the user’s is being deleted';
const pollMs = 50;
/** Number of sessions that are deleted before the remaining ones are listed again. */
const batchSize = 20;

type Counts = Omit<DeletedUserData, 'complete'>;

/**
 * Deletes all data of a user in an app: sessions, `user:` state, artifacts, memories, credentials, and
 * pending calls. Running and waiting runs are cancelled; further passes find what they still write, until
 * nothing is left. If the deletion is interrupted, a second call finishes it and counts only the rest.
 *
 * @throws MeshError `unavailable` while a store cannot be reached
 */
export async function deleteUserData(
  mesh: Mesh,
  { appName, userId }: UserOwner,
  options: DeleteUserOptions = {},
): Promise<DeletedUserData> {
  assertOptions('deleteUserData', options, optionNames);
  const { graceMs = 5_000, maxPasses = 5, signal } = options;
  const user = { appName, userId };
  const counts: Counts = {
    ...{ sessions: 0, events: 0, artifacts: 0, memories: 0, credentials: 0 },
    ...{ pending: 0, callResults: 0, stateKeys: 0 },
  };
  const until = performance.now() + graceMs;
  let deletedCount = 0;
  for (let pass = 1; pass <= maxPasses; pass += 1) {
    await stopRuns(mesh, user, until, signal);
    deletedCount = await deletePass(mesh, user, counts, signal);
    if (deletedCount === 0) break;
    // Writes that were under way during the pass arrive in this time.
    await delay(pollMs, undefined, { signal });
  }
  return { ...counts, complete: deletedCount === 0 };
}

/** Cancels the running and waiting runs in sessions of the user, and waits for their end until `until`. */
async function stopRuns(mesh: Mesh, user: UserOwner, until: number, signal?: AbortSignal): Promise<void> {
  const { users } = mesh.sessions;
  const cancelled: InvocationRef[] = [];
  for (const sessionId of await users.sessionIds(user)) {
    signal?.throwIfAborted();
    cancelled.push(...(await cancelRuns(mesh, { ...user, sessionId })));
  }
  const isAtWork = async ({ invocationId, ...ref }: InvocationRef) =>
    (await users.runsIn(ref)).some((run) => run.invocationId === invocationId);
  for (const run of cancelled) {
    while ((await isAtWork(run)) && performance.now() < until) await delay(pollMs, undefined, { signal });
  }
}

/** Cancels the running and waiting runs of a session, whose watchers get the end, and returns the runs. */
async function cancelRuns(mesh: Mesh, ref: SessionRef): Promise<InvocationRef[]> {
  const runs = await mesh.sessions.users.runsIn(ref);
  for (const run of runs) {
    await cancelInvocation(mesh, run, reason).catch((error: unknown) => {
      if (MeshError.from(error).code !== 'not_found') throw error;
    });
  }
  return runs;
}

/**
 * Ends the runs that wait in the queue of a deleted session. Their watchers get the end now, because no record
 * of it is kept.
 */
async function endWaitingRuns(mesh: Mesh, ref: SessionRef): Promise<void> {
  const end = { status: 'failed', error: { code: 'cancelled', message: reason } } as const;
  for (const run of await mesh.sessions.users.runsIn(ref)) {
    const record = await mesh.sessions.invocations.end(run, end);
    await publishEnd(mesh, run, { ...(endOfRun(record, run.resume) ?? end), lastSeq: 0 }, {});
  }
}

/** Deletes the data that exists now, and returns its amount. */
async function deletePass(
  mesh: Mesh,
  user: UserOwner,
  counts: Counts,
  signal?: AbortSignal,
): Promise<number> {
  const { sessions, artifacts, memory, credentialRecords } = mesh;
  const before = sum(counts);
  counts.pending += (await sessions.pending.list(user)).length;
  let ids = await sessions.users.sessionIds(user);
  for (let remaining = ids.length; remaining > 0 && ids.length > 0; remaining -= batchSize) {
    for (const sessionId of ids.slice(0, batchSize)) {
      signal?.throwIfAborted();
      await deleteOne(mesh, { ...user, sessionId }, counts);
    }
    // Many child sessions were deleted with the sessions to which they belong.
    ids = await sessions.users.sessionIds(user);
  }
  const rest = await sessions.users.deleteRest(user);
  counts.pending += rest.pending;
  counts.stateKeys += rest.stateKeys;
  counts.artifacts += await artifacts.deleteAll(user);
  counts.memories += (await memory?.deleteMemories(user)) ?? 0;
  counts.credentials += (await credentialRecords?.deleteCredentials(user)) ?? 0;
  return sum(counts) - before + rest.others;
}

async function deleteOne(mesh: Mesh, ref: SessionRef, counts: Counts): Promise<void> {
  const { sessions } = mesh;
  // A child session is deleted with the session to which it belongs.
  const exists = await sessions.users.hasSession(ref);
  const sessionIds = new Set(exists ? [ref.sessionId] : []);
  await sessions.deleteSession(ref, {
    async onEvents(of, page) {
      if (page.length > 0) sessionIds.add(of.sessionId);
      counts.events += page.length;
    },
    onDeleted(what, count) {
      counts[what] += count;
    },
  });
  counts.sessions += sessionIds.size;
  // Runs may have joined the queue meanwhile; after the deletion of the session no more can.
  await endWaitingRuns(mesh, ref);
  await sessions.users.forgetQueue(ref);
}

function sum(counts: Counts): number {
  return Object.values(counts).reduce((total, each) => total + each, 0);
}
