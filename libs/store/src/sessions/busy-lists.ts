import type { UserOwner } from '@agentmesh/agent/internal';
import { type Keys, meshTime, type SessionRef } from '@agentmesh/protocol';
import { z } from 'zod';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { dropScript, noteScript } from './scripts/busy-scripts.ts';

/** A part of a list of an app. */
interface Page {
  app: string;
  limit: number;
}

/**
 * Notes a session that a run has, or for which a run waits, for the sweep. Returns a mark for
 * {@link dropIdleSession}.
 */
export async function noteBusy(connection: RedisConnection, keys: Keys, ref: SessionRef): Promise<string> {
  return await note(connection, keys.busySessions(ref.appName), sessionMember(ref));
}

/** Takes an idle session off the list, unless it was noted again after the note of this mark. */
export async function dropIdleSession(
  connection: RedisConnection,
  keys: Keys,
  ref: SessionRef,
  mark: string,
): Promise<void> {
  await drop(connection, keys.busySessions(ref.appName), sessionMember(ref), mark);
}

/** Takes a session off the list if it is idle, and is not noted meanwhile. */
export async function dropIfIdle(
  connection: RedisConnection,
  keys: Keys,
  ref: SessionRef,
  isBusy: () => Promise<boolean>,
): Promise<void> {
  await dropUnless(connection, keys.busySessions(ref.appName), sessionMember(ref), isBusy);
}

/** Takes a user off the list if no run of the user waits, and the user is not noted meanwhile. */
export async function dropUserIfIdle(
  connection: RedisConnection,
  keys: Keys,
  user: UserOwner,
  isBusy: () => Promise<boolean>,
): Promise<void> {
  await dropUnless(connection, keys.busyUsers(user.appName), userMember(user), isBusy);
}

/** Takes a session off the list that is gone with its queue. */
export async function forgetBusy(connection: RedisConnection, keys: Keys, ref: SessionRef): Promise<void> {
  const key = keys.busySessions(ref.appName);
  await connection.write(key, (redis) => redis.zrem(key, sessionMember(ref)));
}

/** Takes a user off the list whose data is gone. */
export async function forgetBusyUser(
  connection: RedisConnection,
  keys: Keys,
  user: UserOwner,
): Promise<void> {
  const key = keys.busyUsers(user.appName);
  await connection.write(key, (redis) => redis.zrem(key, userMember(user)));
}

/** Lists busy sessions of an app; the least recently checked first. */
export async function listBusySessions(
  connection: RedisConnection,
  keys: Keys,
  { app, limit }: Page,
): Promise<SessionRef[]> {
  return (await list(connection, keys.busySessions(app), limit)).flatMap((member) => {
    const { data } = sessionSchema.safeParse(JSON.parse(member));
    if (!data) return [];
    const [appName, userId, sessionId] = data;
    return [{ appName, userId, sessionId }];
  });
}

/** Lists busy users of an app in the same order. */
export async function listBusyUsers(
  connection: RedisConnection,
  keys: Keys,
  { app, limit }: Page,
): Promise<UserOwner[]> {
  return (await list(connection, keys.busyUsers(app), limit)).flatMap((member) => {
    const { data } = userSchema.safeParse(JSON.parse(member));
    return data ? [{ appName: data[0], userId: data[1] }] : [];
  });
}

async function note(connection: RedisConnection, list: string, member: string): Promise<string> {
  return await connection.script<string>(...noteScript.call({ list, member, ...stepNow() }));
}

/** Returns the arguments of a note: the time, and a step that makes its mark unlike others. */
function stepNow() {
  return { now: meshTime(), step: Math.ceil(Math.random() * 999) / 1_000 };
}

/** Returns the arguments of a note of a busy session, or of a user whose runs wait, for another script. */
export function busyNote(keys: Keys, ref: SessionRef, { ofUser }: { ofUser: boolean }) {
  const place = ofUser
    ? { list: keys.busyUsers(ref.appName), member: userMember(ref) }
    : { list: keys.busySessions(ref.appName), member: sessionMember(ref) };
  return { ...place, ...stepNow() };
}

async function drop(connection: RedisConnection, list: string, member: string, mark: string): Promise<void> {
  await connection.script(...dropScript.call({ list, member, mark }));
}

async function dropUnless(
  connection: RedisConnection,
  list: string,
  member: string,
  isBusy: () => Promise<boolean>,
): Promise<void> {
  const mark = await connection.run((redis) => redis.zscore(list, member));
  if (mark !== null && !(await isBusy())) await drop(connection, list, member, mark);
}

async function list(connection: RedisConnection, key: string, limit: number): Promise<string[]> {
  const members = await connection.run((redis) => redis.zrange(key, 0, String(limit - 1)));
  const now = meshTime();
  const checked = members.flatMap((member) => [now, member]);
  if (members.length > 0) await connection.run((redis) => redis.zadd(key, 'XX', ...checked));
  return members;
}

const sessionMember = ({ appName, userId, sessionId }: SessionRef) =>
  JSON.stringify([appName, userId, sessionId]);
const userMember = ({ appName, userId }: UserOwner) => JSON.stringify([appName, userId]);

const sessionSchema = z.tuple([z.string(), z.string(), z.string()]);
const userSchema = z.tuple([z.string(), z.string()]);
