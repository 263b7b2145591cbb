import type { PendingCall } from '@agentmesh/agent';
import {
  type AnswerReservation,
  type AnswerState,
  type CallRef,
  continuationPrefix,
  type PendingCalls,
  type pendingChanges,
  type RunId,
  runName,
  type turnChanges,
} from '@agentmesh/agent/internal';
import { encodeToken, isToken, type Keys, meshTime, type SessionRef } from '@agentmesh/protocol';
import { z } from 'zod';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { noteWaitingUser } from './redis-overview.ts';
import {
  acceptScript,
  callStateScript,
  forgetPendingScript,
  noteAskingScript,
  noteCallScript,
  progressScript,
  releaseClaimScript,
} from './scripts/pending-scripts.ts';

const dayMs = 86_400_000;
/**
 * Time for which a call is found by its id alone, in ms: its longest waiting time, and a while after its
 * answer.
 */
const askingMs = 90 * dayMs;
const answeredMs = dayMs;

type Accepted = [AnswerState['state'] | 'changed', ('agent' | 'user')?];
type Changes = ReturnType<typeof pendingChanges>;

/** The pending calls, in the user's slot. Other keys find them by call id and by deadline. */
export class RedisPendingCalls implements PendingCalls {
  readonly #connection: RedisConnection;
  readonly #keys: Keys;

  constructor(connection: RedisConnection, keys: Keys) {
    this.#connection = connection;
    this.#keys = keys;
  }

  /**
   * Notes the calls that a commit opens, before the commit. If the commit fails, readers find that the call
   * does not exist. In the other order a crash would leave a call that cannot be found.
   */
  async before(ref: SessionRef, { opened }: Changes): Promise<void> {
    const { appName, userId } = ref;
    if (opened.length > 0) await noteWaitingUser(this.#connection, this.#keys, ref);
    for (const { id, deadline, service } of opened.filter(isNamed)) {
      const keptMs = Math.max(askingMs, (deadline ?? 0) - meshTime() + dayMs);
      // Must come first, so that the user's deletion finds everything.
      await this.#connection.script(
        noteCallScript,
        [this.#keys.index(appName, userId)],
        [keptCall(ref, { id, service }), keptMs],
      );
      await this.#connection.script(noteAskingScript, [this.#keys.asking(id)], [memberOf(ref), askingMs]);
      if (deadline === undefined || service === undefined) continue;
      const key = this.#keys.deadlines(service);
      await this.#connection.write(key, (redis) => redis.zadd(key, deadline, memberOf(ref, id)));
    }
  }

  /** Lets the entries of the closed calls expire, after the commit, and notes the user of opened ones again. */
  async after(ref: SessionRef, { opened, closed }: Changes): Promise<void> {
    // A reader may have taken the user off the list before the commit.
    if (opened.length > 0) await noteWaitingUser(this.#connection, this.#keys, ref);
    for (const { id } of closed.filter(isNamed)) {
      await this.#connection.run((redis) => redis.pexpire(this.#keys.asking(id), answeredMs));
    }
  }

  async list({ appName, userId, sessionId }: Parameters<PendingCalls['list']>[0]): Promise<PendingCall[]> {
    const key = this.#keys.pending(appName, userId);
    const all = await this.#connection.read(key, (redis) => redis.hvals(key));
    const calls = callsIn(all).filter((call) => sessionId === undefined || call.sessionId === sessionId);
    const expiredSessions = await this.#expiredSessions({ appName, userId }, calls);
    const obsolete = calls.filter((call) => expiredSessions.has(call.sessionId));
    if (obsolete.length > 0) {
      const fields = obsolete.map((call) => pendingField(call.sessionId, call.id));
      await this.#connection.script(forgetPendingScript, [key], fields);
    }
    return calls
      .filter((call) => !expiredSessions.has(call.sessionId))
      .sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1));
  }

  async ofTool(
    { appName, userId }: Parameters<PendingCalls['ofTool']>[0],
    tool: string,
  ): Promise<PendingCall[]> {
    const key = this.#keys.pending(appName, userId);
    const all = callsIn(await this.#connection.run((redis) => redis.hvals(key)));
    const calls = all.filter(({ name }) => name === tool);
    const expiredSessions = await this.#expiredSessions({ appName, userId }, calls);
    return calls.filter(({ sessionId }) => !expiredSessions.has(sessionId));
  }

  /** Returns the expired sessions of these calls, whose pending calls are of no use. */
  async #expiredSessions(
    user: Omit<SessionRef, 'sessionId'>,
    calls: readonly PendingCall[],
  ): Promise<Set<string>> {
    const ids = [...new Set(calls.map(({ sessionId }) => sessionId))];
    const exists = await Promise.all(
      ids.map((sessionId) =>
        this.#connection.run((redis) => redis.hexists(this.#keys.session({ ...user, sessionId }), 'seq')),
      ),
    );
    return new Set(ids.filter((_, at) => exists[at] === 0));
  }

  async get(ref: CallRef): Promise<PendingCall | undefined> {
    const key = this.#keys.pending(ref.appName, ref.userId);
    const json = await this.#connection.read(key, (redis) => redis.hget(key, fieldOf(ref)));
    return json === null ? undefined : (JSON.parse(json) as PendingCall);
  }

  async sessionsAsking(callId: string): Promise<SessionRef[]> {
    if (!isToken(callId)) return [];
    const members = await this.#connection.run((redis) => redis.smembers(this.#keys.asking(callId)));
    return members.flatMap((member) => {
      const { data } = sessionMember.safeParse(JSON.parse(member));
      return data ? [{ appName: data[0], userId: data[1], sessionId: data[2] }] : [];
    });
  }

  async accept(ref: CallRef, { key, digest, run, callers }: AnswerReservation): Promise<AnswerState> {
    const { appName, userId, callId } = ref;
    const end = run ? [this.#keys.invocation(appName, userId, run.invocationId), endField(run)] : ['', ''];
    const names = callers.flatMap((invocationId) => [
      runName({ invocationId }),
      continuationPrefix(invocationId),
    ]);
    for (;;) {
      const runKey = await this.#connection.run((redis) =>
        redis.hget(this.#keys.answered(ref), `r:${callId}`),
      );
      const [state, by] = await this.#connection.script<Accepted>(
        acceptScript,
        [...this.#callKeys(ref), this.#keys.session(ref), ...(runKey === null ? [] : [runKey])],
        [fieldOf(ref), callId, key, digest, ...end, ...names],
      );
      if (state === 'changed') continue;
      return state === 'answered' ? { state, by: by ?? 'user' } : { state };
    }
  }

  async stateOf(ref: CallRef): Promise<'open' | 'answered' | 'unknown'> {
    return await this.#connection.script(callStateScript, this.#callKeys(ref), [fieldOf(ref), ref.callId]);
  }

  async isReservedBy(ref: CallRef, key: string): Promise<boolean> {
    const answered = this.#keys.answered(ref);
    return (await this.#connection.run((redis) => redis.hget(answered, `k:${ref.callId}`))) === key;
  }

  async release(ref: CallRef, key: string): Promise<void> {
    const args = [fieldOf(ref), ref.callId, key];
    await this.#connection.script(releaseClaimScript, this.#callKeys(ref), args);
  }

  async noteProgress(ref: CallRef, seq: number): Promise<boolean> {
    const args = [fieldOf(ref), ref.callId, seq];
    return (await this.#connection.script<0 | 1>(progressScript, this.#callKeys(ref), args)) === 1;
  }

  async overdue(service: string, limit: number): Promise<CallRef[]> {
    const members = await this.#connection.run((redis) =>
      redis.zrangebyscore(this.#keys.deadlines(service), '-inf', meshTime(), 'LIMIT', 0, limit),
    );
    return members.flatMap((member) => {
      const { data } = callMember.safeParse(JSON.parse(member));
      return data ? [{ appName: data[0], userId: data[1], sessionId: data[2], callId: data[3] }] : [];
    });
  }

  async postponeDeadline(service: string, ref: CallRef, until: number): Promise<void> {
    const key = this.#keys.deadlines(service);
    await this.#connection.write(key, (redis) => redis.zadd(key, 'XX', until, memberOf(ref, ref.callId)));
  }

  async forgetDeadline(service: string, ref: CallRef): Promise<void> {
    const key = this.#keys.deadlines(service);
    await this.#connection.write(key, (redis) => redis.zrem(key, memberOf(ref, ref.callId)));
  }

  #callKeys(ref: CallRef): string[] {
    return [this.#keys.pending(ref.appName, ref.userId), this.#keys.answered(ref)];
  }
}

/**
 * Tells whether the id can be part of a key. Ids of our own calls can; a call with another id is found by its
 * session only.
 */
export const isNamed = ({ id }: { id: string }) => isToken(id);

function callsIn(hash: readonly string[]): PendingCall[] {
  return hash.map((json) => JSON.parse(json) as PendingCall);
}

const sessionMember = z.tuple([z.string(), z.string(), z.string()]);
const callMember = z.tuple([z.string(), z.string(), z.string(), z.string()]);

/** Returns the member of the sets that lead from a call to its session. */
export function memberOf({ appName, userId, sessionId }: SessionRef, ...more: string[]): string {
  return JSON.stringify([appName, userId, sessionId, ...more]);
}

/** Returns the member of the user's index for the entries of a call under other keys. */
export function keptCall(
  { sessionId }: SessionRef,
  { id, service }: { id: string; service?: string | undefined },
) {
  return `call ${JSON.stringify([sessionId, id, service ?? ''])}`;
}

/** Returns the field for the end of a run in its invocation's hash; see `endField` of the scripts. */
function endField(run: RunId): string {
  return run.resume === undefined ? 'end' : `end:${runName(run)}`;
}

/** Returns the field of a call in the hash of pending calls. */
export function pendingField(sessionId: string, callId: string): string {
  return `${encodeToken(sessionId)}:${callId}`;
}

const fieldOf = ({ sessionId, callId }: CallRef) => pendingField(sessionId, callId);

/** Returns the arguments of the commit script that later turns need to know about an event. */
export function turnValues({ asks, answers, summary, isRewind, author }: ReturnType<typeof turnChanges>) {
  const { agent, throughSeq } = summary ?? { agent: '', throughSeq: isRewind ? 'rewound' : '' };
  return { asks, answers, agent, through: throughSeq, author };
}

/** Returns the arguments of the commit script for the calls that an event opens and closes. */
export function pendingValues({ opened, closed }: Changes, sessionId: string) {
  return {
    opened: opened.flatMap((call) => [pendingField(sessionId, call.id), JSON.stringify(call)]),
    closed: closed.flatMap(({ id, by, digest }) => [
      pendingField(sessionId, id),
      `a:${id}`,
      `${by} ${digest}`,
    ]),
  };
}
