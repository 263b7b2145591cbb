import { getFunctionCalls } from '@agentmesh/agent';
import {
  type DeleteSessionOptions,
  isCredentialQuestion,
  pendingChanges,
  type SessionLog,
  type StoredEvent,
} from '@agentmesh/agent/internal';
import { encodeToken, isToken, type Keys, type SessionRef } from '@agentmesh/protocol';
import { z } from 'zod';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { noteBusy } from './busy-lists.ts';
import { forgetRuns, forgetWaitingUser } from './redis-overview.ts';
import { isNamed, keptCall, memberOf } from './redis-pending-calls.ts';
import { callOf } from './script-call.ts';
import {
  closeSessionScript,
  deleteInvocationsScript,
  deleteKeptScript,
  deleteOwnScript,
  deleteSessionScript,
} from './scripts/delete-scripts.ts';

/** The deletion of one session. */
export interface Deletion {
  connection: RedisConnection;
  keys: Keys;
  log: Pick<SessionLog, 'readEvents'>;
  ref: SessionRef;
  options: DeleteSessionOptions;
}

type DeletionStep = (deletion: Deletion) => Promise<void>;
type PageStep = (deletion: Deletion, page: readonly StoredEvent[]) => Promise<void>;

/** Number of events per script call, which bounds the time that Redis is blocked. */
const pageSize = 200;

/**
 * The steps that delete the session of a call, in order. The log goes last, because it names all other keys:
 * a second deletion finishes a deletion that was interrupted between any two steps.
 */
const hiddenSteps: readonly DeletionStep[] = [closeSession, removeMentioned, removeSession];

/**
 * The steps that delete a session, in order. The session is closed first: a run that takes it while its
 * records are removed would make them anew, with tokens that later writers may have, too.
 */
const deletionSteps: readonly DeletionStep[] = [
  closeSession,
  removeUnmentioned,
  removeMentioned,
  leaveRecentRuns,
  removeSession,
  leaveWaitingUsers,
];

/** The steps of {@link removeMentioned} for each page of the log, in order. */
const pageSteps: readonly PageStep[] = [removeHiddenSessions, removeCalls, removeInvocations];

/**
 * Removes a session with all that belongs to it: its log and state, the records of its invocations, its
 * sign-ins, its pending calls, and the child sessions of its calls. Waiting runs stay in its queue for a
 * while, so that each can end with an error.
 */
export async function deleteSession(deletion: Deletion): Promise<void> {
  for (const step of deletionSteps) await step(deletion);
}

/**
 * Removes keys that the log does not mention, because a process died before it committed: calls, sign-ins and
 * records of invocations in the index of expiring keys.
 */
async function removeUnmentioned({ connection, keys, ref }: Deletion): Promise<void> {
  const index = keys.index(ref.appName, ref.userId);
  const token = encodeToken(ref.sessionId);
  for (let at = 0; ; ) {
    const page = await connection.run((redis) => redis.zrange(index, String(at), String(at + pageSize - 1)));
    if (page.length === 0) return;
    const members = page.map(readKept);
    const ownKeys = members.flatMap(({ key }) => (key?.startsWith(keys.signIns(ref)) ? [key] : []));
    const calls = members.flatMap(({ call }) => (call?.sessionId === ref.sessionId ? [call] : []));
    for (const call of calls) await forgetCall({ connection, keys }, ref, call);
    await connection.script(
      deleteKeptScript,
      [index, ...ownKeys],
      calls.map((call) => keptCall(ref, call)),
    );
    const records = members.flatMap(({ key }) => (key?.includes('}:invocation:') ? [key] : []));
    await connection.script(deleteOwnScript, [index, ...records], [token]);
    at += page.length - ownKeys.length - calls.length;
  }
}

/**
 * Closes the session: only its deletion can use it from now on, and its lease ends. After a crash behind this
 * step the session's keys are left, including its place in the user's list: the id is not free, and a
 * deletion finds it.
 */
async function closeSession({ connection, keys, ref }: Deletion): Promise<void> {
  const waiting = keys.waiting(ref);
  // A run that waits for a share is found by its user, and only when the share has room.
  if ((await connection.run((redis) => redis.zcard(waiting))) > 0) await noteBusy(connection, keys, ref);
  const count = await connection.script<number>(...callOf(keys, closeSessionScript, ref, {}));
  // It may have come between the two steps.
  if (count > 0) await noteBusy(connection, keys, ref);
}

/**
 * Removes the keys that the log mentions, page by page, and gives each page to the caller, in the end an
 * empty page. After a crash in this step a second deletion reads the log from its beginning again: keys that
 * are gone do no harm.
 */
async function removeMentioned(deletion: Deletion): Promise<void> {
  const { log, ref, options } = deletion;
  for (let afterSeq = 0; ; ) {
    const page = await log.readEvents({ ...ref, afterSeq, limit: pageSize });
    const last = page.at(-1);
    if (last) for (const step of pageSteps) await step(deletion, page);
    await options.onEvents?.(ref, page);
    if (!last) return;
    afterSeq = last.seq;
  }
}

/**
 * Removes the child sessions of the calls of a page: the session of an ask belongs to the call for which it
 * was made.
 */
async function removeHiddenSessions(deletion: Deletion, page: readonly StoredEvent[]): Promise<void> {
  const { connection, keys, ref } = deletion;
  for (const call of new Set(callIds(page).filter(isToken))) {
    const child = { appName: ref.appName, userId: ref.userId, sessionId: call };
    const hidden = await connection.run((redis) => redis.hget(keys.session(child), 'hidden'));
    if (hidden !== '1') continue;
    for (const step of hiddenSteps) await step({ ...deletion, ref: child });
  }
}

/** Removes the entries that lead to the pending calls of a page, and the sign-ins of its questions. */
async function removeCalls({ connection, keys, ref }: Deletion, page: readonly StoredEvent[]): Promise<void> {
  const callMembers: string[] = [];
  for (const { event } of page) {
    for (const { id, service } of pendingChanges(event, ref.sessionId).opened.filter(isNamed)) {
      await forgetCall({ connection, keys }, ref, { id, service });
      callMembers.push(keptCall(ref, { id, service }));
    }
  }
  const questions = [...new Set(callIds(page))].filter(isCredentialQuestion);
  const signIns = questions.map((id) => keys.signIn(ref, id));
  const index = keys.index(ref.appName, ref.userId);
  if (signIns.length + callMembers.length > 0)
    await connection.script(deleteKeptScript, [index, ...signIns], callMembers);
}

/**
 * Removes the records of the invocations of a page. A record that another session owns keeps that session's
 * fields.
 */
async function removeInvocations(
  { connection, keys, ref }: Deletion,
  page: readonly StoredEvent[],
): Promise<void> {
  const { appName, userId, sessionId } = ref;
  const invocations = [...new Set(page.map(({ event }) => event.invocationId))];
  const records = invocations.map((id) => keys.invocation(appName, userId, id));
  const index = keys.index(appName, userId);
  await connection.script(deleteInvocationsScript, [index, ...records], [encodeToken(sessionId)]);
}

/** Takes the runs of the session off the list for operators. */
async function leaveRecentRuns({ connection, keys, ref }: Deletion): Promise<void> {
  await forgetRuns(connection, keys, ref);
}

/** Takes a user without pending calls off the list for operators. A reader does so too. */
async function leaveWaitingUsers({ connection, keys, ref }: Deletion): Promise<void> {
  await forgetWaitingUser(connection, keys, ref);
}

/**
 * Removes the session itself in one atomic step: its hash, log and state, its answers and open calls, and its
 * place in the user's list. After a crash behind this step only the session's queue is left, which expires.
 */
async function removeSession({ connection, keys, ref }: Deletion): Promise<void> {
  await connection.script(...callOf(keys, deleteSessionScript, ref, {}));
}

/** Returns the ids of all calls of a page. */
function callIds(page: readonly StoredEvent[]): string[] {
  return page.flatMap(({ event }) => getFunctionCalls(event)).flatMap(({ id }) => id ?? []);
}

/** Removes the entries that lead from a call to its session, which lie in other slots. */
export async function forgetCall(
  { connection, keys }: Pick<Deletion, 'connection' | 'keys'>,
  ref: SessionRef,
  { id, service }: { id: string; service?: string | undefined },
): Promise<void> {
  const asking = keys.asking(id);
  await connection.write(asking, (redis) => redis.srem(asking, memberOf(ref)));
  if (service === undefined) return;
  const deadlines = keys.deadlines(service);
  await connection.write(deadlines, (redis) => redis.zrem(deadlines, memberOf(ref, id)));
}

const keptCallSchema = z.tuple([z.string(), z.string(), z.string()]);

/** Reads a member of the index: a key in its slot, or a call. */
export function readKept(member: string): {
  key?: string;
  call?: { sessionId: string; id: string; service?: string };
} {
  if (member.startsWith('key ')) return { key: member.slice('key '.length) };
  const { data } = keptCallSchema.safeParse(JSON.parse(member.slice('call '.length)));
  if (!data) return {};
  const [sessionId, id, service] = data;
  return { call: { sessionId, id, ...(service !== '' && { service }) } };
}
