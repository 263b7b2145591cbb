import { continuationPrefix, runName, runOfName } from '../../events/run-ids.ts';
import {
  type Attempt,
  closedPartError,
  type InvocationRecord,
  type InvocationRef,
  type Invocations,
  type RunEnding,
} from '../invocations.ts';
import { assertCurrent, endRun, isOver, recordOf } from './stored-invocation.ts';
import type { Tables } from './tables.ts';

/** The number of attempts that stands for a closed part. */
const closedPart = Number.MAX_SAFE_INTEGER;

export class InMemoryInvocations implements Invocations {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  async get(ref: InvocationRef): Promise<InvocationRecord> {
    return recordOf(this.#tables.findInvocation(ref));
  }

  async beginAttempt(ref: InvocationRef, part: string): Promise<Attempt> {
    const { attempts } = this.#tables.invocation(ref);
    const number = (attempts.get(part) ?? 0) + 1;
    if (number > closedPart) throw closedPartError();
    attempts.set(part, number);
    return { part, number };
  }

  async closePart(ref: InvocationRef, part: string): Promise<void> {
    this.#tables.invocation(ref).attempts.set(part, closedPart);
  }

  async countLlmCall(ref: InvocationRef, token?: number): Promise<number> {
    const invocation = this.#tables.invocation(ref);
    assertCurrent(invocation, token);
    invocation.llmCalls += 1;
    return invocation.llmCalls;
  }

  async cancel(ref: InvocationRef, reason: string): Promise<InvocationRecord | undefined> {
    const { appName, userId, sessionId, invocationId, resume } = ref;
    const { keys, leases } = this.#tables;
    const key = keys.session(ref);
    const existing = this.#tables.findInvocation(ref);
    const later = resume === undefined ? continuationPrefix(invocationId) : undefined;
    const waiting = leases.waitingOf(key, runName(ref), later);
    if (existing ? existing.owner !== key : waiting.length === 0) return undefined;
    const invocation = this.#tables.invocation(ref);
    const isMeant = resume === undefined || invocation.run === resume;
    if (!isMeant && waiting.length === 0 && !invocation.ends.has(resume)) return undefined;
    if (isMeant && !isOver(invocation)) invocation.cancelled ??= reason;
    const error = { code: 'cancelled', message: reason };
    for (const run of waiting.map(runOfName))
      await this.end({ appName, userId, sessionId, ...run }, { status: 'failed', error });
    return await this.get(ref);
  }

  async end(ref: InvocationRef, end: RunEnding, token?: number): Promise<InvocationRecord> {
    const invocation = this.#tables.invocation(ref);
    assertCurrent(invocation, token);
    endRun(invocation, ref.resume ?? '', end);
    this.#tables.leases.leave(this.#tables.keys.session(ref), runName(ref));
    return await this.get(ref);
  }
}
