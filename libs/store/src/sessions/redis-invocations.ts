import {
  type Attempt,
  closedPartError,
  continuationPrefix,
  type InvocationRecord,
  type InvocationRef,
  type Invocations,
  type RunEnding,
  recordedEnd,
  runName,
  takeoverError,
} from '@agentmesh/agent/internal';
import { encodeToken, toJson } from '@agentmesh/protocol';
import { recordOf } from './invocation-record.ts';
import { resumeName, sessionKeys } from './redis-session-leases.ts';
import {
  attemptScript,
  closePartScript,
  countScript,
  endScript,
  readInvocationScript,
} from './scripts/invocation-scripts.ts';
import { cancelScript } from './scripts/lease-scripts.ts';
import type { SessionPlace } from './session-place.ts';

/** The records of invocations, each a hash in the slot of its user. */
export class RedisInvocations implements Invocations {
  readonly #place: SessionPlace;

  constructor(place: SessionPlace) {
    this.#place = place;
  }

  async get(ref: InvocationRef): Promise<InvocationRecord> {
    const { invocation } = this.#recordKeys(ref);
    return recordOf(
      await this.#place.connection.script<string[]>(...readInvocationScript.call({ invocation })),
    );
  }

  async beginAttempt(ref: InvocationRef, part: string): Promise<Attempt> {
    const values = { ...this.#recordKeys(ref), ...this.#recordOptions(ref), part };
    const number = await this.#place.connection.script<number>(...attemptScript.call(values));
    if (number === 0) throw closedPartError();
    return { part, number };
  }

  async closePart(ref: InvocationRef, part: string): Promise<void> {
    const values = { ...this.#recordKeys(ref), ...this.#recordOptions(ref), part };
    await this.#place.connection.script(...closePartScript.call(values));
  }

  async countLlmCall(ref: InvocationRef, token?: number): Promise<number> {
    const values = { ...this.#recordKeys(ref), ...this.#recordOptions(ref), fencingToken: token ?? '' };
    return unlessFenced(await this.#place.connection.script<number | 'fenced'>(...countScript.call(values)));
  }

  async cancel(ref: InvocationRef, reason: string): Promise<InvocationRecord | undefined> {
    const { connection, keys } = this.#place;
    const end = { status: 'failed', error: { code: 'cancelled', message: reason } };
    const reply = await connection.script<string[] | 'unknown'>(
      ...cancelScript.call({
        ...this.#recordKeys(ref),
        ...sessionKeys(keys, ref),
        ...this.#recordOptions(ref),
        reason,
        invocationId: ref.invocationId,
        endJson: toJson(end, 'the end'),
        prefix: continuationPrefix(ref.invocationId),
        only: resumeName(ref),
      }),
    );
    return reply === 'unknown' ? undefined : recordOf(reply);
  }

  async end(ref: InvocationRef, end: RunEnding, token?: number): Promise<InvocationRecord> {
    const { refused, waits } = end;
    const { connection, keys } = this.#place;
    const recordOptions = this.#recordOptions(ref);
    const reply = await connection.script<string[] | 'fenced'>(
      ...endScript.call({
        ...this.#recordKeys(ref),
        ...sessionKeys(keys, ref),
        ...recordOptions,
        endedMs: waits ? recordOptions.runningMs : recordOptions.endedMs,
        fencingToken: token ?? '',
        endJson: toJson(recordedEnd(end), 'the end'),
        run: runName(ref),
        resume: resumeName(ref),
        refused: refused ? 1 : 0,
      }),
    );
    return recordOf(unlessFenced(reply));
  }

  #recordKeys({ appName, userId, invocationId }: InvocationRef) {
    const { keys } = this.#place;
    return { invocation: keys.invocation(appName, userId, invocationId), index: keys.index(appName, userId) };
  }

  /** Returns the session to which a new record belongs, and how long a record is kept. */
  #recordOptions({ sessionId }: InvocationRef) {
    const { running, ended } = this.#place.invocationTtlMs;
    return { sessionToken: encodeToken(sessionId), runningMs: running, endedMs: ended };
  }
}

/** Returns the result of a script, unless the script refused the token. @throws MeshError `aborted` */
function unlessFenced<T>(result: T | 'fenced'): T {
  if (result === 'fenced') throw takeoverError();
  return result;
}
