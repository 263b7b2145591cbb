import { randomUUID } from 'node:crypto';
import {
  defaultLeaseMs,
  type InvocationRef,
  type RunEnd,
  runName,
  runOfName,
  type SessionLeases,
  type SilentHolder,
  type TakenSession,
  type TakeOptions,
  takeoverError,
} from '@agentmesh/agent/internal';
import { encodeToken, type Keys, type SessionRef, toJson } from '@agentmesh/protocol';
import { z } from 'zod';
import type { RedisConnection } from '../connection/redis-connection.ts';
import {
  abandonScript,
  findSilentScript,
  giveBackScript,
  leaveScript,
  nextRunScript,
  noteAskedScript,
  promoteScript,
  renewScript,
  takeScript,
} from './scripts/lease-scripts.ts';
import type { SessionPlace } from './session-place.ts';

type Found =
  | ['held', number, number, string]
  | ['busy', string]
  | ['duplicate']
  | ['ended' | 'gone' | 'elsewhere'];

/** The holder of each session and the runs that wait for it, in the session's own slot. */
export class RedisSessionLeases implements SessionLeases {
  readonly #place: SessionPlace;

  constructor(place: SessionPlace) {
    this.#place = place;
  }

  async take(ref: InvocationRef, options: TakeOptions): Promise<TakenSession> {
    const {
      run,
      whenBusy,
      rejection,
      leaseMs = defaultLeaseMs,
      delivery,
      place,
      earlier,
      incarnation,
    } = options;
    const { connection, keys } = this.#place;
    const { running, ended } = this.#place.invocationTtlMs;
    // Sent before the script: a crash in between leaves a session that the next sweep takes off the list.
    const listed = noteBusy(connection, keys, ref);
    const taken = connection.script<Found>(
      ...takeScript.call({
        invocation: invocationKey(keys, ref),
        ...sessionKeys(keys, ref),
        index: keys.index(ref.appName, ref.userId),
        sessionToken: encodeToken(ref.sessionId),
        runningMs: running,
        endedMs: ended,
        nonce: randomUUID(),
        run: runName(ref),
        leaseMs,
        whenBusy,
        message: run,
        resume: resumeName(ref),
        part: delivery?.part ?? '',
        delivery: delivery?.message ?? '',
        place: place ?? '',
        earlier: earlier ?? '',
        incarnation: incarnation ?? '',
        rejection: rejection ? toJson(rejection, 'the end') : '',
      }),
    );
    const [[state, ...found]] = await Promise.all([taken, listed]);
    if (state === 'held') {
      const [token = 0, begun = 0, cancelled] = found as [number, number, string];
      return { state, token, begun, ...(cancelled && { cancelled }) };
    }
    if (state !== 'busy') return { state };
    const [holder] = found as [string];
    return { state, ...(holder && { holder: runOfName(holder).invocationId }) };
  }

  async renew(ref: InvocationRef, token: number, leaseMs = defaultLeaseMs): Promise<{ cancelled?: string }> {
    const { connection, keys } = this.#place;
    const renewed = await connection.script<[string] | 'fenced'>(
      ...renewScript.call({
        invocation: invocationKey(keys, ref),
        session: keys.session(ref),
        fencingToken: token,
        invocationId: ref.invocationId,
        leaseMs,
      }),
    );
    if (renewed === 'fenced') throw takeoverError();
    const [cancelled] = renewed;
    return { ...(cancelled && { cancelled }) };
  }

  async giveBack(ref: InvocationRef, token: number): Promise<void> {
    const { connection, keys } = this.#place;
    await connection.script(
      ...giveBackScript.call({ invocation: invocationKey(keys, ref), fencingToken: token }),
    );
  }

  async nextRun(ref: SessionRef): Promise<string | undefined> {
    const { connection, keys } = this.#place;
    const readNext = () => connection.script<[0 | 1, string]>(...nextRunScript.call(sessionKeys(keys, ref)));
    const [isBusy, run] = await readNext();
    if (isBusy) return run || undefined;
    const busy = keys.busySessions(ref.appName);
    await connection.run((redis) => redis.zrem(busy, memberOf(ref)));
    // A run may have come between the two steps.
    const [isBusyNow] = await readNext();
    if (isBusyNow) await noteBusy(connection, keys, ref);
    return undefined;
  }

  async promote(ref: InvocationRef, leaseMs = defaultLeaseMs): Promise<void> {
    const { connection, keys } = this.#place;
    await connection.script(...promoteScript.call({ ...sessionKeys(keys, ref), run: runName(ref), leaseMs }));
  }

  async leave(ref: InvocationRef): Promise<void> {
    const { connection, keys } = this.#place;
    const values = { run: runName(ref), resume: resumeName(ref) };
    await connection.script(
      ...leaveScript.call({ invocation: invocationKey(keys, ref), ...sessionKeys(keys, ref), ...values }),
    );
  }

  async findSilent(ref: SessionRef): Promise<SilentHolder | undefined> {
    const { connection, keys } = this.#place;
    const { session, waitingRuns } = sessionKeys(keys, ref);
    const found = await connection.script<[string, string, number] | null>(
      ...findSilentScript.call({ session, waitingRuns }),
    );
    if (!found) return undefined;
    const [name, run, asked] = found;
    return { ...runOfName(name), run, asked };
  }

  async noteAsked(ref: InvocationRef, leaseMs = defaultLeaseMs): Promise<boolean> {
    const { connection, keys } = this.#place;
    const values = { session: keys.session(ref), run: runName(ref), leaseMs };
    return (await connection.script<0 | 1>(...noteAskedScript.call(values))) === 1;
  }

  async abandon(ref: InvocationRef, end: RunEnd): Promise<boolean> {
    const { connection, keys } = this.#place;
    const { running, ended } = this.#place.invocationTtlMs;
    const abandoned = await connection.script<0 | 1>(
      ...abandonScript.call({
        invocation: invocationKey(keys, ref),
        index: keys.index(ref.appName, ref.userId),
        ...sessionKeys(keys, ref),
        sessionToken: encodeToken(ref.sessionId),
        runningMs: running,
        endedMs: ended,
        run: runName(ref),
        resume: resumeName(ref),
        endJson: toJson(end, 'the end'),
      }),
    );
    return abandoned === 1;
  }

  async busySessions(app: string, limit: number): Promise<SessionRef[]> {
    const { connection, keys } = this.#place;
    const key = keys.busySessions(app);
    const members = await connection.run((redis) => redis.zrange(key, 0, String(limit - 1)));
    const now = Date.now();
    const checked = members.flatMap((member) => [now, member]);
    if (members.length > 0) await connection.run((redis) => redis.zadd(key, 'XX', ...checked));
    return members.flatMap(refOfMember);
  }
}

/** Returns the keys of a session for leases, by their names in scripts. */
export function sessionKeys(keys: Keys, ref: SessionRef) {
  return { session: keys.session(ref), waiting: keys.waiting(ref), waitingRuns: keys.waitingRuns(ref) };
}

/** Returns the name of a run that continues its invocation, for scripts; '' for the run that began it. */
export function resumeName(ref: InvocationRef): string {
  return ref.resume === undefined ? '' : runName(ref);
}

function invocationKey(keys: Keys, { appName, userId, invocationId }: InvocationRef): string {
  return keys.invocation(appName, userId, invocationId);
}

async function noteBusy(connection: RedisConnection, keys: Keys, ref: SessionRef): Promise<void> {
  const key = keys.busySessions(ref.appName);
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
