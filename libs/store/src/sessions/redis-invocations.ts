import {
  type Attempt,
  closedPartError,
  continuationPrefix,
  type EndedInvocation,
  type InvocationRecord,
  type InvocationRef,
  type Invocations,
  type RunEnding,
  recordedEnd,
  runName,
  runOfName,
  type SessionWork,
  takeoverError,
} from '@agentmesh/agent/internal';
import { encodeToken, type SessionRef, toJson } from '@agentmesh/protocol';
import { recordOf, workOf } from './invocation-record.ts';
import { resumeName, sessionKeys } from './lease-keys.ts';
import {
  attemptScript,
  closePartScript,
  countScript,
  dropCallOfToolScript,
  endScript,
  noteCallOfToolScript,
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

  async noteCall(ref: InvocationRef, { id, tool }: { id: string; tool: string }): Promise<void> {
    const values = { ...this.#recordKeys(ref), ...this.#recordOptions(ref), callId: id, tool };
    await this.#place.connection.script(...noteCallOfToolScript.call(values));
  }

  async dropCall(ref: InvocationRef, id: string): Promise<void> {
    const { invocation } = this.#recordKeys(ref);
    await this.#place.connection.script(...dropCallOfToolScript.call({ invocation, callId: id }));
  }

  async workIn(ref: SessionRef): Promise<SessionWork | undefined> {
    const { connection, keys } = this.#place;
    const session = keys.session(ref);
    const holder = await connection.run((redis) => redis.hget(session, 'lease'));
    if (holder === null) return undefined;
    const { invocationId } = runOfName(holder);
    const { invocation } = this.#recordKeys({ ...ref, invocationId });
    const fields = await connection.script<string[]>(...readInvocationScript.call({ invocation }));
    return workOf(invocationId, fields);
  }

  async countLlmCall(ref: InvocationRef, token?: number): Promise<number> {
    const values = { ...this.#recordKeys(ref), ...this.#recordOptions(ref), fencingToken: token ?? '' };
    return unlessFenced(await this.#place.connection.script<number | 'fenced'>(...countScript.call(values)));
  }

  async cancel(
    ref: InvocationRef,
    reason: string,
    { untaken = false }: { untaken?: boolean } = {},
  ): Promise<InvocationRecord | undefined> {
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
        untaken: untaken ? 1 : '',
      }),
    );
    return reply === 'unknown' ? undefined : recordOf(reply);
  }

  async end(ref: InvocationRef, end: RunEnding, token?: number): Promise<EndedInvocation> {
    const { refused, waits } = end;
    const { connection, keys } = this.#place;
    const recordOptions = this.#recordOptions(ref);
    const reply = await connection.script<[record: string[], lastSeq: number, isIdle: 0 | 1] | 'fenced'>(
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
    const [record, lastSeq, isIdle] = unlessFenced(reply);
    return { ...recordOf(record), lastSeq, isIdle: isIdle === 1 };
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
