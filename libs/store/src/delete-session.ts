import { getFunctionCalls, type SessionService } from '@agentmesh/agent';
import { type Event, encodeToken, isToken, type Keys, type SessionRef } from '@agentmesh/protocol';
import type { RedisConnection } from './redis-connection.ts';
import { deleteScript } from './scripts.ts';

export interface Deletion {
  connection: RedisConnection;
  keys: Keys;
  sessions: Pick<SessionService, 'readEvents'>;
}

const pageSize = 1_000;

/**
 * Removes a session with all that belongs to it: its log and state, the records of its invocations, what it waits for, and the hidden sessions
 * of its calls. Runs that wait for it stay in its queue, to be told that it is gone.
 */
export async function deleteSession(deletion: Deletion, ref: SessionRef): Promise<void> {
  const { connection, keys, sessions } = deletion;
  const { appName, userId, sessionId } = ref;
  const { invocations, calls } = await mentionedIn(sessions, ref);
  // First, so that a delete that was cut short finds them again.
  for (const call of calls) await deleteChild(deletion, { appName, userId, sessionId: call });
  await connection.script(
    deleteScript,
    [
      keys.session(ref),
      keys.events(ref),
      keys.state(ref),
      keys.sessions(appName, userId),
      keys.answered(ref),
      keys.pending(appName, userId),
      ...[...invocations].map((id) => keys.invocation(appName, userId, id)),
    ],
    [sessionId, encodeToken(sessionId)],
  );
}

/** The session of an ask belongs to the call that it was made for. */
async function deleteChild(deletion: Deletion, ref: SessionRef): Promise<void> {
  const key = deletion.keys.session(ref);
  const hidden = await deletion.connection.run((redis) => redis.hget(key, 'hidden'));
  if (hidden === '1') await deleteSession(deletion, ref);
}

/** Invocations and calls; read from the log, as no index of them is kept. */
async function mentionedIn(
  sessions: Deletion['sessions'],
  ref: SessionRef,
): Promise<{ invocations: Set<string>; calls: Set<string> }> {
  const invocations = new Set<string>();
  const calls = new Set<string>();
  for (let afterSeq = 0, page = pageSize; page === pageSize; afterSeq += pageSize) {
    const events = await sessions.readEvents({ ...ref, afterSeq, limit: pageSize });
    page = events.length;
    for (const { event } of events) {
      invocations.add(event.invocationId);
      for (const id of callIds(event)) calls.add(id);
    }
  }
  return { invocations, calls };
}

/** The ids of calls that an agent made, as far as they can name a session. */
function callIds(event: Event): string[] {
  return getFunctionCalls(event).flatMap(({ id }) => (id !== undefined && isToken(id) ? [id] : []));
}
