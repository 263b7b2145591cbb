import {
  type Attempt,
  continuationPrefix,
  type InvocationRecord,
  type InvocationRef,
  type Invocations,
  type RunEnding,
  runName,
} from '@agentmesh/agent/internal';
import { encodeToken, toJson } from '@agentmesh/protocol';
import type { Script } from '../scripts/script.ts';
import { takenOver } from './event-log.ts';
import { recordOf } from './invocation-record.ts';
import { attemptScript, countScript, endScript, readInvocationScript } from './invocation-scripts.ts';
import { cancelScript } from './lease-scripts.ts';
import { resumeName, sessionKeys } from './redis-session-leases.ts';
import type { SessionPlace } from './session-place.ts';

/** The records of invocations, each a hash in the slot of its user. */
export class RedisInvocations implements Invocations {
  readonly #place: SessionPlace;
  readonly #ttls: [running: number, ended: number];

  constructor(place: SessionPlace) {
    this.#place = place;
    this.#ttls = [place.invocationTtlMs.running, place.invocationTtlMs.ended];
  }

  async get(ref: InvocationRef): Promise<InvocationRecord> {
    const [key = ''] = this.#recordKeys(ref);
    return recordOf(await this.#place.connection.script<string[]>(readInvocationScript, [key], []));
  }

  async beginAttempt(ref: InvocationRef, part: string): Promise<Attempt> {
    const args = [encodeToken(ref.sessionId), ...this.#ttls, part];
    const { connection } = this.#place;
    const number = await connection.script<number>(attemptScript, this.#recordKeys(ref), args);
    return { part, number };
  }

  async countLlmCall(ref: InvocationRef, token?: number): Promise<number> {
    const args = [encodeToken(ref.sessionId), ...this.#ttls, token ?? ''];
    return await this.#fenced<number>(countScript, ref, args);
  }

  async cancel(ref: InvocationRef, reason: string): Promise<InvocationRecord | undefined> {
    const { connection, keys } = this.#place;
    const end = { status: 'failed', error: { code: 'cancelled', message: reason } };
    const { sessionId, invocationId } = ref;
    const [record = '', index = ''] = this.#recordKeys(ref);
    const args = [
      ...[encodeToken(sessionId), ...this.#ttls, reason, invocationId, toJson(end, 'the end')],
      ...[continuationPrefix(invocationId), resumeName(ref)],
    ];
    const all = [record, ...sessionKeys(keys, ref), index];
    const found = await connection.script<string[] | 'unknown'>(cancelScript, all, args);
    return found === 'unknown' ? undefined : recordOf(found);
  }

  async end(ref: InvocationRef, end: RunEnding, token?: number): Promise<InvocationRecord> {
    const { status, error, refused, waits } = end;
    const [running, ended] = this.#ttls;
    const json = toJson({ status, ...(error && { error }) }, 'the end');
    const args = [
      ...[encodeToken(ref.sessionId), running, waits ? running : ended, token ?? '', json],
      ...[runName(ref), resumeName(ref), refused ? 1 : 0],
    ];
    return recordOf(await this.#fenced<string[]>(endScript, ref, args, sessionKeys(this.#place.keys, ref)));
  }

  /** @throws MeshError `aborted` when the script refuses the token */
  async #fenced<T>(
    script: Script,
    ref: InvocationRef,
    args: (string | number)[],
    more: string[] = [],
  ): Promise<T> {
    const keys = [...this.#recordKeys(ref), ...more];
    const result = await this.#place.connection.script<T | 'fenced'>(script, keys, args);
    if (result === 'fenced') throw takenOver();
    return result;
  }

  #recordKeys({ appName, userId, invocationId }: InvocationRef): string[] {
    const { keys } = this.#place;
    return [keys.invocation(appName, userId, invocationId), keys.index(appName, userId)];
  }
}
