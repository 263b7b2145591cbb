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
  runOfName,
  type SessionWork,
  takeoverError,
} from '@agentmesh/agent/internal';
import { type SessionRef, toJson } from '@agentmesh/protocol';
import { recordOf, workOf } from './invocation-record.ts';
import { callOf, resumeName } from './script-call.ts';
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
    return recordOf(await this.#read(ref));
  }

  async beginAttempt(ref: InvocationRef, part: string): Promise<Attempt> {
    const { connection, keys } = this.#place;
    const number = await connection.script<number>(
      ...callOf(keys, attemptScript, ref, { ...this.#kept(), part }),
    );
    if (number === 0) throw closedPartError();
    return { part, number };
  }

  async closePart(ref: InvocationRef, part: string): Promise<void> {
    const { connection, keys } = this.#place;
    await connection.script(...callOf(keys, closePartScript, ref, { ...this.#kept(), part }));
  }

  async noteCall(ref: InvocationRef, { id, tool }: { id: string; tool: string }): Promise<void> {
    const { connection, keys } = this.#place;
    const values = { ...this.#kept(), callId: id, tool };
    await connection.script(...callOf(keys, noteCallOfToolScript, ref, values));
  }

  async dropCall(ref: InvocationRef, id: string): Promise<void> {
    const { connection, keys } = this.#place;
    await connection.script(...callOf(keys, dropCallOfToolScript, ref, { callId: id }));
  }

  async workIn(ref: SessionRef): Promise<SessionWork | undefined> {
    const { connection, keys } = this.#place;
    const session = keys.session(ref);
    const holder = await connection.run((redis) => redis.hget(session, 'lease'));
    if (holder === null) return undefined;
    const { invocationId } = runOfName(holder);
    return workOf(invocationId, await this.#read({ ...ref, invocationId }));
  }

  async countLlmCall(ref: InvocationRef, token?: number): Promise<number> {
    const { connection, keys } = this.#place;
    const call = callOf(keys, countScript, ref, { ...this.#kept(), fencingToken: token ?? '' });
    return unlessFenced(await connection.script<number | 'fenced'>(...call));
  }

  async cancel(
    ref: InvocationRef,
    reason: string,
    { untaken = false }: { untaken?: boolean } = {},
  ): Promise<InvocationRecord | undefined> {
    const { connection, keys } = this.#place;
    const end = { status: 'failed', error: { code: 'cancelled', message: reason } };
    const reply = await connection.script<string[] | 'unknown'>(
      ...callOf(keys, cancelScript, ref, {
        ...this.#kept(),
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
    const kept = this.#kept();
    const reply = await connection.script<[record: string[], lastSeq: number, isIdle: 0 | 1] | 'fenced'>(
      ...callOf(keys, endScript, ref, {
        ...kept,
        endedMs: waits ? kept.runningMs : kept.endedMs,
        fencingToken: token ?? '',
        endJson: toJson(recordedEnd(end), 'the end'),
        refused: refused ? 1 : 0,
      }),
    );
    const [record, lastSeq, isIdle] = unlessFenced(reply);
    return { ...recordOf(record), lastSeq, isIdle: isIdle === 1 };
  }

  #read(ref: InvocationRef): Promise<string[]> {
    const { connection, keys } = this.#place;
    return connection.script(...callOf(keys, readInvocationScript, ref, {}));
  }

  /** Returns how long a record is kept, for scripts. */
  #kept() {
    const { running, ended } = this.#place.invocationTtlMs;
    return { runningMs: running, endedMs: ended };
  }
}

/** Returns the result of a script, unless the script refused the token. @throws MeshError `aborted` */
function unlessFenced<T>(result: T | 'fenced'): T {
  if (result === 'fenced') throw takeoverError();
  return result;
}
