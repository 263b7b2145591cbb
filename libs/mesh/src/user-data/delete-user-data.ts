import { setTimeout as delay } from 'node:timers/promises';
import type { InvocationRef, UserOwner } from '@agentmesh/agent/internal';
import { assertOptions, MeshError, type OptionNames, type SessionRef } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { cancelInvocation } from '../runs/cancel-invocation.ts';

/** How much of a user was deleted. */
export interface DeletedUserData {
  /** Hidden ones counted. */
  sessions: number;
  events: number;
  /** Files, versions not counted. */
  artifacts: number;
  memories: number;
  credentials: number;
  /** Calls that waited for an answer. */
  pending: number;
  /** Results of remote tools, and jobs. */
  callResults: number;
  /** Keys of `user:` state. */
  stateKeys: number;
  /** False when there was still something to be found at the end: something writes on; ask again. */
  complete: boolean;
}

export interface DeleteUserOptions {
  /** How long runs that are at work may take to stop, in ms; default 5,000. */
  graceMs?: number;
  /** How often it is looked again, at most; default 5. */
  maxPasses?: number;
  /** Ends it between two sessions: what is left is deleted by asking again. */
  signal?: AbortSignal;
}

const optionNames: OptionNames<DeleteUserOptions> = { graceMs: true, maxPasses: true, signal: true };

const reason = 'all that is the user’s is being deleted';
const lookMs = 50;
/** Sessions that are deleted before it is looked which are left. */
const someIds = 20;

type Counts = Omit<DeletedUserData, 'complete'>;

/**
 * Deletes all that is kept of a user in an app: sessions, `user:` state, artifacts, memories, credentials, and what waits for an answer. Runs that are
 * at work, or wait, are cancelled. What one of them writes meanwhile is found by looking again until nothing is there. Cut short, it is finished by
 * asking again; the counts are then those of the rest.
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
  let found = 0;
  for (let pass = 1; pass <= maxPasses; pass += 1) {
    await stopRuns(mesh, user, until, signal);
    found = await deletePass(mesh, user, counts, signal);
    if (found === 0) break;
    // What was under way when it was looked for has come by then.
    await delay(lookMs, undefined, { signal });
  }
  return { ...counts, complete: found === 0 };
}

/** Cancels what is at work in sessions of the user, or waits for them, and waits for the end of it, but not for long. */
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
    while ((await isAtWork(run)) && performance.now() < until) await delay(lookMs, undefined, { signal });
  }
}

/** Cancels what is at work in a session, or waits for it, and tells who waits for the end of it. */
async function cancelRuns(mesh: Mesh, ref: SessionRef): Promise<InvocationRef[]> {
  const runs = await mesh.sessions.users.runsIn(ref);
  for (const run of runs) {
    await cancelInvocation(mesh, run, reason).catch((error: unknown) => {
      if (MeshError.from(error).code !== 'not_found') throw error;
    });
  }
  return runs;
}

/** Deletes what there is now; returns how much that was. */
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
  for (let left = ids.length; left > 0 && ids.length > 0; left -= someIds) {
    for (const sessionId of ids.slice(0, someIds)) {
      signal?.throwIfAborted();
      await deleteOne(mesh, { ...user, sessionId }, counts);
    }
    // Many hidden ones have gone with others.
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
  // A hidden one goes with the session that it belongs to.
  const isThere = (await sessions.users.readSession(ref)) !== undefined;
  const seen = new Set(isThere ? [ref.sessionId] : []);
  await sessions.deleteSession(ref, {
    async onEvents(of, page) {
      if (page.length > 0) seen.add(of.sessionId);
      counts.events += page.length;
    },
    onDeleted(what, count) {
      counts[what] += count;
    },
  });
  counts.sessions += seen.size;
  // What has come into its queue since: from now on nothing does.
  await cancelRuns(mesh, ref);
  await sessions.users.forgetQueue(ref);
}

function sum(counts: Counts): number {
  return Object.values(counts).reduce((total, each) => total + each, 0);
}
