import {
  type InvocationRef,
  mostRecentRuns,
  type Overview,
  type RecentRun,
  type RecentRunsPage,
  type TakeOptions,
  type UserOwner,
} from '@agentmesh/agent/internal';
import { decodeToken, encodeToken, type Keys, meshTime, type SessionRef } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { busyNote } from './busy-lists.ts';
import { forgetRunsScript, noteRunScript } from './scripts/overview-scripts.ts';

/** Time for which the list of recent runs is kept after its last run, in ms. */
const keptMs = 7 * 86_400_000;

const lastTimes = new WeakMap<RedisConnection, number>();

/** Returns the time in ms. No two runs of a connection have the same one, so that a page ends at one run. */
function nextTime(connection: RedisConnection): number {
  const time = Math.max(meshTime(), (lastTimes.get(connection) ?? 0) + 0.001);
  lastTimes.set(connection, time);
  return time;
}

/**
 * Notes that a run has a session, or waits for it or for a share of its user, for the sweep. Notes the run itself
 * when it is the first one of an invocation, or continues one. Returns a mark for `dropIdleSession`.
 */
export async function noteRun(
  connection: RedisConnection,
  keys: Keys,
  ref: InvocationRef,
  { agent = '', delivery, onlyWaits = false }: Pick<TakeOptions, 'agent' | 'delivery' | 'onlyWaits'>,
): Promise<string> {
  const { appName, userId, sessionId, invocationId, resume } = ref;
  const isLaterHop = resume === undefined && delivery !== undefined && delivery.part !== 'hop:0';
  const values = {
    ...busyNote(keys, ref, { ofUser: onlyWaits }),
    ...listsOf(keys, appName),
    id: isLaterHop ? '' : invocationId,
    time: nextTime(connection).toFixed(3),
    place: `${encodeToken(userId)} ${encodeToken(sessionId)} ${agent}`,
    refresh: resume === undefined ? '' : '1',
    most: mostRecentRuns,
    keptMs,
  };
  return await connection.script<string>(...noteRunScript.call(values));
}

/** Forgets the runs of a session, or of all sessions of a user. */
export async function forgetRuns(
  connection: RedisConnection,
  keys: Keys,
  { appName, userId, sessionId }: UserOwner & Partial<SessionRef>,
): Promise<void> {
  const ofSession = sessionId === undefined ? '' : `${encodeToken(sessionId)} `;
  const values = { ...listsOf(keys, appName), prefix: `${encodeToken(userId)} ${ofSession}` };
  await connection.script(...forgetRunsScript.call(values));
}

/** Notes a user who is about to have a pending call, or has one. */
export async function noteWaitingUser(
  connection: RedisConnection,
  keys: Keys,
  { appName, userId }: UserOwner,
): Promise<void> {
  const key = keys.waitingUsers(appName);
  await connection.write(key, (redis) => redis.zadd(key, meshTime(), encodeToken(userId)));
}

/** Takes a user off the list who has no pending call. */
export async function forgetWaitingUser(
  connection: RedisConnection,
  keys: Keys,
  { appName, userId }: UserOwner,
): Promise<void> {
  if ((await connection.run((redis) => redis.hlen(keys.pending(appName, userId)))) > 0) return;
  const key = keys.waitingUsers(appName);
  await connection.write(key, (redis) => redis.zrem(key, encodeToken(userId)));
}

const listsOf = (keys: Keys, app: string) => ({ runs: keys.recentRuns(app), places: keys.recentPlaces(app) });

/** The lists over all users of an app, in the slot of the app. */
export class RedisOverview implements Overview {
  readonly #connection: RedisConnection;
  readonly #keys: Keys;

  constructor(connection: RedisConnection, keys: Keys) {
    this.#connection = connection;
    this.#keys = keys;
  }

  async recentRuns(app: string, { limit, before }: RecentRunsPage): Promise<RecentRun[]> {
    const { runs, places } = listsOf(this.#keys, app);
    const from = before === undefined ? '+inf' : `(${before}`;
    const found = await this.#connection.run((redis) =>
      redis.zrange(runs, from, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, limit, 'WITHSCORES'),
    );
    const ids = found.filter((_, at) => at % 2 === 0);
    if (ids.length === 0) return [];
    const values = await this.#connection.run((redis) => redis.hmget(places, ...ids));
    return ids.flatMap((id, at) => runAt(app, id, values[at], found[2 * at + 1]));
  }

  async findRun(app: string, invocationId: string): Promise<RecentRun | undefined> {
    const { runs, places } = listsOf(this.#keys, app);
    const place = await this.#connection.run((redis) => redis.hget(places, invocationId));
    if (place === null) return undefined;
    const since = await this.#connection.run((redis) => redis.zscore(runs, invocationId));
    return runAt(app, invocationId, place, since)[0];
  }

  async waitingUsers(app: string, limit: number): Promise<UserOwner[]> {
    const key = this.#keys.waitingUsers(app);
    const users = await this.#connection.run((redis) => redis.zrange(key, '0', String(limit - 1), 'REV'));
    const counts = await Promise.all(
      users.map((user) =>
        this.#connection.run((redis) => redis.hlen(this.#keys.pending(app, decodeToken(user)))),
      ),
    );
    const done = users.filter((_, at) => counts[at] === 0);
    if (done.length > 0) await this.#connection.write(key, (redis) => redis.zrem(key, ...done));
    return users.flatMap((user, at) =>
      counts[at] === 0 ? [] : [{ appName: app, userId: decodeToken(user) }],
    );
  }
}

/** Returns a run from its place and its time; nothing for a run that was dropped meanwhile. */
function runAt(
  appName: string,
  invocationId: string,
  place: string | null | undefined,
  since: string | null | undefined,
): RecentRun[] {
  if (place == null || since == null) return [];
  const [user = '', session = '', agent = ''] = place.split(' ');
  const ref = { appName, userId: decodeToken(user), sessionId: decodeToken(session) };
  return [{ ...ref, invocationId, ...(agent !== '' && { agent }), since: Number(since) }];
}
