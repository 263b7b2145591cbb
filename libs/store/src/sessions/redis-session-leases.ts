import { randomUUID } from 'node:crypto';
import {
  continuationPrefix,
  defaultLeaseMs,
  type InvocationRecord,
  type InvocationRef,
  runName,
  runOfName,
  type SessionLeases,
  type TakenSession,
} from '@agentmesh/agent/internal';
import { encodeToken, type Keys, type SessionRef, toJson } from '@agentmesh/protocol';
import { z } from 'zod';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { takenOver } from './event-log.ts';
import { recordOf } from './invocation-record.ts';
import {
  cancelScript,
  giveBackScript,
  nextRunScript,
  promoteRunScript,
  renewSessionScript,
  takeSessionScript,
} from './lease-scripts.ts';

type Found = ['held', number, number, string] | ['busy', string] | ['duplicate'] | ['ended'] | ['gone'];

/** Who has a session, and who waits for it, in the session's own slot; `ttls` of a running and of an ended invocation, ms. */
export function redisSessionLeases(
  connection: RedisConnection,
  keys: Keys,
  ttls: readonly [running: number, ended: number],
): SessionLeases {
  const keysOf = (ref: InvocationRef) => [
    ...[invocationKey(keys, ref), ...sessionKeys(keys, ref)],
    keys.index(ref.appName, ref.userId),
  ];
  return {
    async takeSession(ref, { run, whenBusy, leaseMs = defaultLeaseMs, delivery }): Promise<TakenSession> {
      const args = [
        encodeToken(ref.sessionId),
        ...ttls,
        randomUUID(),
        runName(ref),
        leaseMs,
        whenBusy,
        run,
        resumeName(ref),
        ...[delivery?.part ?? '', delivery?.message ?? ''],
      ];
      const [state, ...found] = await connection.script<Found>(takeSessionScript, keysOf(ref), args);
      if (state === 'held') {
        const [token = 0, begun = 0, cancelled] = found as [number, number, string];
        return { state, token, begun, ...(cancelled && { cancelled }) };
      }
      if (state !== 'busy') return { state };
      // Behind the script: what a crash in between leaves out is found by whoever ends the invocation that has the session.
      if (whenBusy !== 'reject') await noteWaiting(connection, keys, ref);
      const [holder] = found as [string];
      return { state, ...(holder && { holder: runOfName(holder).invocationId }) };
    },

    async renewSession(ref, token, leaseMs = defaultLeaseMs) {
      const renewed = await connection.script<[string] | 'fenced'>(
        renewSessionScript,
        [invocationKey(keys, ref), keys.session(ref)],
        [token, ref.invocationId, leaseMs],
      );
      if (renewed === 'fenced') throw takenOver();
      const [cancelled] = renewed;
      return { ...(cancelled && { cancelled }) };
    },

    async giveBackSession(ref, token) {
      await connection.script(giveBackScript, [invocationKey(keys, ref)], [token]);
    },

    async nextRun(ref) {
      const look = () => connection.script<[0 | 1, string]>(nextRunScript, sessionKeys(keys, ref), []);
      const [waits, run] = await look();
      if (waits) return run || undefined;
      await connection.run((redis) => redis.zrem(keys.waitingSessions, memberOf(ref)));
      // One may have come between the two.
      const [again] = await look();
      if (again) await noteWaiting(connection, keys, ref);
      return undefined;
    },

    async promoteRun(ref, leaseMs = defaultLeaseMs) {
      await connection.script(promoteRunScript, sessionKeys(keys, ref), [runName(ref), leaseMs]);
    },

    async waitingSessions(limit) {
      const members = await connection.run((redis) =>
        redis.zrange(keys.waitingSessions, 0, String(limit - 1)),
      );
      const now = Date.now();
      for (const member of members) {
        await connection.run((redis) => redis.zadd(keys.waitingSessions, 'XX', now, member));
      }
      return members.flatMap(refOfMember);
    },

    async cancelInvocation(ref, reason): Promise<InvocationRecord | undefined> {
      const end = { status: 'failed', error: { code: 'cancelled', message: reason } };
      const { sessionId, invocationId } = ref;
      const args = [
        ...[encodeToken(sessionId), ...ttls, reason, invocationId, toJson(end, 'the end')],
        ...[continuationPrefix(invocationId), resumeName(ref)],
      ];
      const found = await connection.script<string[] | 'unknown'>(cancelScript, keysOf(ref), args);
      return found === 'unknown' ? undefined : recordOf(found);
    },
  };
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
