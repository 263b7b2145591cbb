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
import {
  closeSessionScript,
  deleteInvocationsScript,
  deleteKeptScript,
  deleteOwnScript,
  deleteSessionScript,
} from './delete-scripts.ts';
import { isNamed, keptCall, memberOf } from './redis-pending-calls.ts';

export interface Deletion {
  connection: RedisConnection;
  keys: Keys;
  log: Pick<SessionLog, 'readEvents'>;
}

/** Events that are looked at in one go: so long Redis is busy with nothing else. */
const pageSize = 200;

/**
 * Removes a session with all that belongs to it: its log and state, the records of its invocations, sign-ins, what it waits for, and the hidden
 * sessions of its calls. Runs that wait for it stay in its queue for a while, to be told that it is gone. The log goes last, page by page looked
 * through before, so that a deletion that was cut short is finished by another one.
 */
export async function deleteSession(
  deletion: Deletion,
  ref: SessionRef,
  options: DeleteSessionOptions = {},
): Promise<void> {
  await removeUnmentioned(deletion, ref);
  await removeLog(deletion, ref, options);
}

async function removeLog(deletion: Deletion, ref: SessionRef, options: DeleteSessionOptions): Promise<void> {
  const { connection, keys, log } = deletion;
  const { appName, userId, sessionId } = ref;
  await connection.script(closeSessionScript, [keys.session(ref)], []);
  for (let afterSeq = 0; ; ) {
    const page = await log.readEvents({ ...ref, afterSeq, limit: pageSize });
    const last = page.at(-1);
    if (last) await removeMentioned(deletion, ref, page, options);
    await options.onEvents?.(ref, page);
    if (!last) break;
    afterSeq = last.seq;
  }
  await connection.script(
    deleteSessionScript,
    [
      ...[keys.session(ref), keys.events(ref), keys.state(ref)],
      ...[keys.sessions(appName, userId), keys.hiddenSessions(appName, userId)],
      ...[keys.answered(ref), keys.pending(appName, userId), keys.waiting(ref), keys.waitingRuns(ref)],
      keys.sessionEnds(appName, userId),
    ],
    [sessionId, encodeToken(sessionId)],
  );
}

/** Removes what lies beside the session and is found by its events alone. */
async function removeMentioned(
  deletion: Deletion,
  ref: SessionRef,
  page: readonly StoredEvent[],
  options: DeleteSessionOptions,
): Promise<void> {
  const { connection, keys } = deletion;
  const { appName, userId, sessionId } = ref;
  const index = keys.index(appName, userId);
  const events = page.map(({ event }) => event);
  const calls = events.flatMap(getFunctionCalls).flatMap(({ id }) => id ?? []);
  for (const call of new Set(calls.filter(isToken)))
    await deleteChild(deletion, { appName, userId, sessionId: call }, options);
  const waited: string[] = [];
  for (const { opened } of events.map((event) => pendingChanges(event, sessionId))) {
    for (const { id, service } of opened.filter(isNamed)) {
      await forgetCall(deletion, ref, { id, service });
      waited.push(keptCall(ref, { id, service }));
    }
  }
  const signIns = [...new Set(calls)].filter(isCredentialQuestion).map((id) => keys.signIn(ref, id));
  if (signIns.length + waited.length > 0)
    await connection.script(deleteKeptScript, [index, ...signIns], waited);
  const invocations = [...new Set(events.map(({ invocationId }) => invocationId))];
  const records = invocations.map((id) => keys.invocation(appName, userId, id));
  await connection.script(deleteInvocationsScript, [index, ...records], [encodeToken(sessionId)]);
}

/** Removes what leads from a call to its session, which lies in other slots. */
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

/** The session of an ask belongs to the call that it was made for. */
async function deleteChild(
  deletion: Deletion,
  ref: SessionRef,
  options: DeleteSessionOptions,
): Promise<void> {
  const key = deletion.keys.session(ref);
  const hidden = await deletion.connection.run((redis) => redis.hget(key, 'hidden'));
  if (hidden === '1') await removeLog(deletion, ref, options);
}

/** Removes what the log does not tell of, as a process died before it did: from the list of what ends by itself. */
async function removeUnmentioned(deletion: Deletion, ref: SessionRef): Promise<void> {
  const { connection, keys } = deletion;
  const index = keys.index(ref.appName, ref.userId);
  const token = encodeToken(ref.sessionId);
  for (let at = 0; ; ) {
    const page = await connection.run((redis) => redis.zrange(index, String(at), String(at + pageSize - 1)));
    if (page.length === 0) return;
    const kept = page.map(readKept);
    const own = kept.flatMap(({ key }) => (key?.startsWith(`${keys.session(ref)}:`) ? [key] : []));
    const calls = kept.flatMap(({ call }) => (call?.sessionId === ref.sessionId ? [call] : []));
    for (const call of calls) await forgetCall(deletion, ref, call);
    await connection.script(
      deleteKeptScript,
      [index, ...own],
      calls.map((call) => keptCall(ref, call)),
    );
    const records = kept.flatMap(({ key }) => (key?.includes('}:invocation:') ? [key] : []));
    const deleted = await connection.script<number>(deleteOwnScript, [index, ...records], [token]);
    at += page.length - own.length - calls.length - deleted;
  }
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
