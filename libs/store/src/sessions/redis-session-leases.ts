import { randomUUID } from 'node:crypto';
import {
  defaultLeaseMs,
  type InvocationRef,
  runName,
  runOfName,
  type SessionLeases,
  type TakenSession,
  type TakeOptions,
} from '@agentmesh/agent/internal';
import { encodeToken, type Keys, type SessionRef } from '@agentmesh/protocol';
import { z } from 'zod';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { takenOver } from './event-log.ts';
import {
  giveBackScript,
  nextRunScript,
  promoteRunScript,
  renewSessionScript,
  takeSessionScript,
} from './lease-scripts.ts';
import type { SessionPlace } from './session-place.ts';

type Found = ['held', number, number, string] | ['busy', string] | ['duplicate'] | ['ended'] | ['gone'];

/** Who has a session, and who waits for it, in the session's own slot. */
export class RedisSessionLeases implements SessionLeases {
  readonly #place: SessionPlace;

  constructor(place: SessionPlace) {
    this.#place = place;
  }

  async take(ref: InvocationRef, options: TakeOptions): Promise<TakenSession> {
    const { run, whenBusy, leaseMs = defaultLeaseMs, delivery } = options;
    const { connection, keys } = this.#place;
    const { running, ended } = this.#place.invocationTtlMs;
    const args = [
      encodeToken(ref.sessionId),
      ...[running, ended],
      randomUUID(),
      runName(ref),
      leaseMs,
      whenBusy,
      run,
      resumeName(ref),
      ...[delivery?.part ?? '', delivery?.message ?? ''],
    ];
    const [state, ...found] = await connection.script<Found>(
      takeSessionScript,
      [invocationKey(keys, ref), ...sessionKeys(keys, ref), keys.index(ref.appName, ref.userId)],
      args,
    );
    if (state === 'held') {
      const [token = 0, begun = 0, cancelled] = found as [number, number, string];
      return { state, token, begun, ...(cancelled && { cancelled }) };
    }
    if (state !== 'busy') return { state };
    // Behind the script: what a crash in between leaves out is found by whoever ends the invocation that has the session.
    if (whenBusy !== 'reject') await noteWaiting(connection, keys, ref);
    const [holder] = found as [string];
    return { state, ...(holder && { holder: runOfName(holder).invocationId }) };
  }

  async renew(ref: InvocationRef, token: number, leaseMs = defaultLeaseMs): Promise<{ cancelled?: string }> {
    const { connection, keys } = this.#place;
    const renewed = await connection.script<[string] | 'fenced'>(
      renewSessionScript,
      [invocationKey(keys, ref), keys.session(ref)],
      [token, ref.invocationId, leaseMs],
    );
    if (renewed === 'fenced') throw takenOver();
    const [cancelled] = renewed;
    return { ...(cancelled && { cancelled }) };
  }

  async giveBack(ref: InvocationRef, token: number): Promise<void> {
    const { connection, keys } = this.#place;
    await connection.script(giveBackScript, [invocationKey(keys, ref)], [token]);
  }

  async nextRun(ref: SessionRef): Promise<string | undefined> {
    const { connection, keys } = this.#place;
    const look = () => connection.script<[0 | 1, string]>(nextRunScript, sessionKeys(keys, ref), []);
    const [waits, run] = await look();
    if (waits) return run || undefined;
    await connection.run((redis) => redis.zrem(keys.waitingSessions, memberOf(ref)));
    // One may have come between the two.
    const [again] = await look();
    if (again) await noteWaiting(connection, keys, ref);
    return undefined;
  }

  async promote(ref: InvocationRef, leaseMs = defaultLeaseMs): Promise<void> {
    const { connection, keys } = this.#place;
    await connection.script(promoteRunScript, sessionKeys(keys, ref), [runName(ref), leaseMs]);
  }

  async waitingSessions(limit: number): Promise<SessionRef[]> {
    const { connection, keys } = this.#place;
    const members = await connection.run((redis) => redis.zrange(keys.waitingSessions, 0, String(limit - 1)));
    const now = Date.now();
    for (const member of members) {
      await connection.run((redis) => redis.zadd(keys.waitingSessions, 'XX', now, member));
    }
    return members.flatMap(refOfMember);
  }
}

/** The keys of a session that leases concern, in the order in which scripts take them. */
export function sessionKeys(keys: Keys, ref: SessionRef): string[] {
  return [keys.session(ref), keys.waiting(ref), keys.waitingRuns(ref)];
}

/** The name of a run that continues its invocation, for scripts; of the one that began it, nothing. */
export function resumeName(ref: InvocationRef): string {
  return ref.resume === undefined ? '' : runName(ref);
}

function invocationKey(keys: Keys, { appName, userId, invocationId }: InvocationRef): string {
  return keys.invocation(appName, userId, invocationId);
}

async function noteWaiting(connection: RedisConnection, keys: Keys, ref: SessionRef): Promise<void> {
  const key = keys.waitingSessions;
  await connection.write(key, (redis) => redis.zadd(key, 'NX', Date.now(), memberOf(ref)));
}

const memberOf = ({ appName, userId, sessionId }: SessionRef) => JSON.stringify([appName, userId, sessionId]);

const memberSchema = z.tuple([z.string(), z.string(), z.string()]);

function refOfMember(member: string): SessionRef[] {
  const { data } = memberSchema.safeParse(JSON.parse(member));
  if (!data) return [];
  const [appName, userId, sessionId] = data;
  return [{ appName, userId, sessionId }];
}
