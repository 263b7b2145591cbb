import { createHash } from 'node:crypto';
import {
  defaultLeaseMs,
  type InvocationRef,
  type NextRun,
  type NextRunOptions,
  type PromoteOptions,
  type RunEnd,
  runOfName,
  type SessionLeases,
  type SessionView,
  type SilentHolder,
  type TakenSession,
  type TakeOptions,
  takeoverError,
  type UserOwner,
} from '@agentmesh/agent/internal';
import { decodeToken, meshTime, type SessionRef, toJson } from '@agentmesh/protocol';
import {
  dropIdleSession,
  dropIfIdle,
  dropUserIfIdle,
  listBusySessions,
  listBusyUsers,
  noteBusy,
} from './busy-lists.ts';
import { callOf } from './script-call.ts';
import {
  abandonScript,
  findSilentScript,
  giveBackScript,
  leaveScript,
  lookScript,
  noteAskedScript,
  renewScript,
} from './scripts/lease-scripts.ts';
import { nextReadyScript, nextRunScript, promoteScript, readReadyScript } from './scripts/queue-scripts.ts';
import type { SessionPlace } from './session-place.ts';
import { takeSession } from './take-session.ts';

/** The holder of each session and the runs that wait for it, in the session's own slot. */
export class RedisSessionLeases implements SessionLeases {
  readonly #place: SessionPlace;

  constructor(place: SessionPlace) {
    this.#place = place;
  }

  take(ref: InvocationRef, options: TakeOptions): Promise<TakenSession> {
    return takeSession(this.#place, ref, options);
  }

  async renew(ref: InvocationRef, token: number, leaseMs = defaultLeaseMs): Promise<{ cancelled?: string }> {
    const { connection, keys } = this.#place;
    const renewed = await connection.script<[string] | 'fenced'>(
      ...callOf(keys, renewScript, ref, {
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
    await connection.script(...callOf(keys, giveBackScript, ref, { fencingToken: token }));
  }

  async nextRun(from: SessionRef | UserOwner, options: NextRunOptions = {}): Promise<NextRun | undefined> {
    const { connection, keys } = this.#place;
    const found =
      'sessionId' in from ? await this.#nextIn(from, options) : await this.#nextReady(from, options);
    if (typeof found === 'object') return found;
    if (found === '') return undefined;
    const { appName, userId } = from;
    const ref = { appName, userId, sessionId: decodeToken(found) };
    const run = await connection.script<string>(...callOf(keys, readReadyScript, ref, {}));
    // A session that was not ready any more is off the list now.
    return run === '' ? await this.nextRun({ appName, userId }, options) : { sessionId: ref.sessionId, run };
  }

  /** Returns the run of this session whose turn it is, or the token of another session; '' for neither. */
  async #nextIn(ref: SessionRef, { running }: NextRunOptions): Promise<NextRun | string> {
    const { connection, keys } = this.#place;
    const call = callOf(keys, nextRunScript, ref, { most: running ?? '' });
    const readNext = () => connection.script<[0 | 1, string, string]>(...call);
    const [isBusy, run, other] = await readNext();
    if (run !== '') return { sessionId: ref.sessionId, run };
    if (!isBusy) await dropIfIdle(connection, keys, ref, async () => (await readNext())[0] === 1);
    return other;
  }

  /** Returns the token of the session of the user whose run may begin now, or ''. */
  async #nextReady(user: UserOwner, { running, skip = 0 }: NextRunOptions): Promise<string> {
    const { connection, keys } = this.#place;
    const call = callOf(keys, nextReadyScript, user, { most: running ?? '', skip });
    const read = () => connection.script<[number, string]>(...call);
    const [count, ready] = await read();
    if (count === 0) await dropUserIfIdle(connection, keys, user, async () => (await read())[0] > 0);
    return ready;
  }

  async promote(ref: InvocationRef, options: PromoteOptions = {}): Promise<boolean> {
    const { run, running, leaseMs = defaultLeaseMs } = options;
    const { connection, keys } = this.#place;
    // Sent before the script, as in `take`.
    const listed = noteBusy(connection, keys, ref);
    const promoted = connection.script<0 | 1>(
      ...callOf(keys, promoteScript, ref, {
        leaseMs,
        digest: run === undefined ? '' : createHash('sha1').update(run).digest('hex'),
        most: running ?? '',
      }),
    );
    const [mayGoOn] = await Promise.all([promoted, listed]);
    // As in `take`: the session may have come off the list between the two.
    await noteBusy(connection, keys, ref);
    return mayGoOn === 1;
  }

  async noteIdle(ref: SessionRef, mark: string): Promise<void> {
    await dropIdleSession(this.#place.connection, this.#place.keys, ref, mark);
  }

  async look(ref: SessionRef): Promise<SessionView | undefined> {
    const { connection, keys } = this.#place;
    const found = await connection.script<[number, string, number] | null>(
      ...callOf(keys, lookScript, ref, {}),
    );
    if (!found) return undefined;
    const [seq, incarnation, waiting] = found;
    return { seq, incarnation, waiting };
  }

  async countWaiting({ appName, userId }: UserOwner): Promise<number> {
    const { connection, keys } = this.#place;
    const key = keys.queued(appName, userId);
    return await connection.run((redis) => redis.zcount(key, meshTime(), '+inf'));
  }

  async leave(ref: InvocationRef): Promise<void> {
    const { connection, keys } = this.#place;
    await connection.script(...callOf(keys, leaveScript, ref, {}));
  }

  async findSilent(ref: SessionRef): Promise<SilentHolder | undefined> {
    const { connection, keys } = this.#place;
    const call = callOf(keys, findSilentScript, ref, {});
    const found = await connection.script<[string, string, number] | null>(...call);
    if (!found) return undefined;
    const [name, run, asked] = found;
    return { ...runOfName(name), run, asked };
  }

  async noteAsked(ref: InvocationRef, leaseMs = defaultLeaseMs): Promise<boolean> {
    const { connection, keys } = this.#place;
    return (await connection.script<0 | 1>(...callOf(keys, noteAskedScript, ref, { leaseMs }))) === 1;
  }

  async abandon(ref: InvocationRef, end: RunEnd): Promise<boolean> {
    const { connection, keys } = this.#place;
    const { running, ended } = this.#place.invocationTtlMs;
    const abandoned = await connection.script<0 | 1>(
      ...callOf(keys, abandonScript, ref, {
        runningMs: running,
        endedMs: ended,
        endJson: toJson(end, 'the end'),
      }),
    );
    return abandoned === 1;
  }

  async busySessions(app: string, limit: number): Promise<SessionRef[]> {
    const { connection, keys } = this.#place;
    return await listBusySessions(connection, keys, { app, limit });
  }

  async busyUsers(app: string, limit: number): Promise<UserOwner[]> {
    return await listBusyUsers(this.#place.connection, this.#place.keys, { app, limit });
  }
}
