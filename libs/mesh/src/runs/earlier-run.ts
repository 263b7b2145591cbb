import { endOfRun, messageEventId, runName } from '@agentmesh/agent/internal';
import type { StoredItem, WorkItem } from '@agentmesh/bus';
import { aloneHeader, decodeToken, MeshError, runCommandSchema } from '@agentmesh/protocol';
import { agentCard, agentCards } from '../mesh/cards.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { treeOf } from '../remote/transfer-port.ts';
import { completeRun } from './read-run.ts';
import type { Run } from './run.ts';
import { isElsewhere } from './take-lease.ts';

/**
 * Returns the place of the first run of the session that was accepted before this one and has neither begun
 * nor ended; undefined if there is none. Such a run may have been delivered to a replica that is slow or
 * stopped, so it is not in the session's queue yet.
 */
export async function findEarlier(mesh: Mesh, run: Run, before: number): Promise<number | undefined> {
  // Only the first hop begins a run.
  if (run.fresh || run.hop > 0) return undefined;
  try {
    for await (const item of mesh.bus.earlierRuns(run.session, before)) {
      const other = runIn(mesh, item);
      if (other && isBefore(other, run) && !(await isPast(mesh, other, run))) return item.place;
    }
  } catch (error) {
    if (MeshError.from(error).code !== 'permission_denied') throw error;
    mesh.log.error({ err: error }, 'may not look for earlier runs: runs of one session may change places');
  }
  return undefined;
}

/** Tells whether no queue had a run of the session when this run was accepted. */
export function isAlone(mesh: Mesh, agent: string, { headers }: WorkItem): boolean {
  return headers[aloneHeader] === '0' && [...treeOf(agentCards(mesh), agent)].length === 1;
}

/** Returns the run of a stored command; undefined for a command that no replica can read. */
export function runIn(mesh: Mesh, item: StoredItem): Run | undefined {
  const agent = decodeToken(item.subject.split('.').at(-3) ?? '');
  try {
    const { data } = runCommandSchema.safeParse(item.json());
    return data && completeRun(data, item, agentCard(mesh, agent)?.app ?? agent);
  } catch {
    return undefined;
  }
}

function isBefore(other: Run, run: Run): boolean {
  const isOfSession = other.app === run.app && other.user === run.user && other.session === run.session;
  return isOfSession && other.hop === 0 && runName(other) !== runName(run);
}

/**
 * Tells whether the run has ended, or its message is in the log. A run that has begun has the session, so no
 * other run needs to wait for its arrival. The server may keep the command of a run whose record has expired, or
 * was deleted with its session: a run for a session that is gone never begins, also when there is a new session of
 * this id.
 */
async function isPast(mesh: Mesh, run: Run, later: Run): Promise<boolean> {
  const { app: appName, user: userId, session: sessionId, invocationId, resume, incarnation } = run;
  const ref = { appName, userId, sessionId };
  if (incarnation !== undefined && incarnation !== (await incarnationFor(mesh, later))) return true;
  const record = await mesh.sessions.invocations.get({ ...ref, invocationId });
  // A run whose id belongs to another session never begins.
  if (endOfRun(record, resume) !== undefined || isElsewhere(run, record)) return true;
  return await hasBegun(mesh, run);
}

/** Returns the incarnation of the session for which a run was accepted, or else the one of today. */
async function incarnationFor(
  mesh: Mesh,
  { app, user, session, incarnation }: Run,
): Promise<string | undefined> {
  if (incarnation !== undefined) return incarnation;
  return (await mesh.sessions.leases.look({ appName: app, userId: user, sessionId: session }))?.incarnation;
}

/** Tells whether the message of the run is in the log of its session. */
export async function hasBegun(mesh: Mesh, run: Run): Promise<boolean> {
  const ref = { appName: run.app, userId: run.user, sessionId: run.session };
  const messageId = messageEventId(run, run.session);
  for (let afterSeq = 0; ; ) {
    const events = await mesh.sessions.log.readEvents({ ...ref, afterSeq });
    const last = events.at(-1);
    if (!last) return false;
    if (events.some(({ event }) => event.id === messageId)) return true;
    afterSeq = last.seq;
  }
}
