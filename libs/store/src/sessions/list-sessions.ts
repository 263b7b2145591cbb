import type { ListSessionsRequest, ListSessionsResponse, Session } from '@agentmesh/agent';
import { listed, sliceOf } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import type { RedisClient } from '../connection/redis-link.ts';
import { dropEndedScript } from './scripts/session-scripts.ts';
import type { SessionPlace } from './session-place.ts';
import { stateOf } from './state-delta.ts';

/** Reads a part of a user's list of sessions. @throws MeshError `invalid_argument` for an invalid part */
export async function listSessions(
  place: SessionPlace,
  request: ListSessionsRequest,
): Promise<ListSessionsResponse> {
  const { connection, keys, app } = place;
  const slice = sliceOf(request);
  const { appName, userId, limit, offset, order } = slice;
  const list = keys.sessions(appName, userId);
  const ofUser = keys.user(appName, userId);
  const part = (redis: RedisClient, last: number) =>
    order === 'asc' ? redis.zrange(list, offset, String(last)) : redis.zrevrange(list, offset, last);
  await connection.script(dropEndedScript, [list, keys.sessionEnds(appName, userId)], []);
  const [totalItems, ids] = await Promise.all([
    connection.read(list, (redis) => redis.zcard(list)),
    limit === 0 ? [] : connection.read(list, (redis) => part(redis, offset + limit - 1)),
    app.sweep(appName, userId),
  ]);
  const [appFields, user, found] = await Promise.all([
    app.readApp(appName),
    connection.read(ofUser, (redis) => redis.hgetall(ofUser)),
    Promise.all(ids.map((sessionId) => readHead(place, { appName, userId, sessionId }))),
  ]);
  const shared = { ...appFields, ...stateOf('user', Object.entries(user).flat()) };
  const sessions = found.map((head) => head && { ...head, state: { ...shared, ...head.state } });
  // A session may be deleted between the two reads.
  return listed(
    sessions.filter((session) => session !== undefined),
    totalItems,
    slice,
  );
}

/** Reads a session without its events and its shared state. */
async function readHead({ connection, keys }: SessionPlace, ref: SessionRef): Promise<Session | undefined> {
  const head = keys.session(ref);
  const [[updated, seq], state] = await Promise.all([
    connection.read(head, (redis) => redis.hmget(head, 'updated', 'seq')),
    connection.read(head, (redis) => redis.hgetall(keys.state(ref))),
  ]);
  if (updated == null) return undefined;
  const sessionState = stateOf('session', Object.entries(state).flat());
  const { appName, userId, sessionId: id } = ref;
  return {
    id,
    appName,
    userId,
    state: sessionState,
    events: [],
    lastUpdateTime: Number(updated),
    seq: Number(seq),
  };
}
