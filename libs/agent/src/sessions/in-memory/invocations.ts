import type { SessionRef } from '@agentmesh/protocol';
import { continuationPrefix, runName, runOfName } from '../../events/run-ids.ts';
import type {
  Attempt,
  EndedInvocation,
  InvocationRecord,
  InvocationRef,
  Invocations,
  RunEnding,
  SessionWork,
} from '../invocations.ts';
import {
  assertCurrent,
  beginAttempt,
  closePart,
  endRun,
  isOver,
  recordOf,
  workOf,
} from './stored-invocation.ts';
import type { Tables } from './tables.ts';

export class InMemoryInvocations implements Invocations {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  async get(ref: InvocationRef): Promise<InvocationRecord> {
    return recordOf(this.#tables.findInvocation(ref));
  }

  async beginAttempt(ref: InvocationRef, part: string): Promise<Attempt> {
    return { part, number: beginAttempt(this.#tables.invocation(ref), part) };
  }

  async closePart(ref: InvocationRef, part: string): Promise<void> {
    closePart(this.#tables.invocation(ref), part);
  }

  async noteCall(ref: InvocationRef, { id, tool }: { id: string; tool: string }): Promise<void> {
    const invocation = this.#tables.invocation(ref);
    invocation.calls ??= new Map();
    invocation.calls.set(id, tool);
  }

  async dropCall(ref: InvocationRef, id: string): Promise<void> {
    this.#tables.findInvocation(ref)?.calls?.delete(id);
  }

  async workIn(ref: SessionRef): Promise<SessionWork | undefined> {
    const { keys, leases } = this.#tables;
    const holder = leases.holderOf(keys.session(ref));
    if (holder === undefined) return undefined;
    const { invocationId } = runOfName(holder);
    const invocation = this.#tables.findInvocation({ ...ref, invocationId });
    return invocation && workOf(invocationId, invocation);
  }

  async countLlmCall(ref: InvocationRef, token?: number): Promise<number> {
    const invocation = this.#tables.invocation(ref);
    assertCurrent(invocation, token);
    invocation.llmCalls += 1;
    return invocation.llmCalls;
  }

  async cancel(
    ref: InvocationRef,
    reason: string,
    { untaken = false }: { untaken?: boolean } = {},
  ): Promise<InvocationRecord | undefined> {
    const { appName, userId, sessionId, invocationId, resume } = ref;
    const { keys, leases } = this.#tables;
    const key = keys.session(ref);
    const existing = this.#tables.findInvocation(ref);
    const later = resume === undefined ? continuationPrefix(invocationId) : undefined;
    const waiting = leases.waitingOf(key, runName(ref), later);
    const error = { code: 'cancelled', message: reason };
    if (existing && existing.owner !== sessionId) return undefined;
    const isMeant = resume === undefined || existing?.run === resume;
    const hasBegun = existing && (isMeant || existing.ends.has(resume));
    if (!hasBegun && waiting.length === 0) {
      if (untaken) await this.end(ref, { status: 'failed', error });
      return untaken ? await this.get(ref) : undefined;
    }
    const invocation = this.#tables.invocation(ref);
    if (isMeant && !isOver(invocation)) invocation.cancelled ??= reason;
    for (const run of waiting.map(runOfName))
      await this.end({ appName, userId, sessionId, ...run }, { status: 'failed', error });
    return await this.get(ref);
  }

  async end(ref: InvocationRef, end: RunEnding, token?: number): Promise<EndedInvocation> {
    const { keys, leases } = this.#tables;
    const invocation = this.#tables.invocation(ref);
    assertCurrent(invocation, token);
    endRun(invocation, ref.resume ?? '', end);
    const lastSeq = this.#tables.findSession(ref)?.events.length ?? 0;
    const ended = { ...recordOf(invocation), lastSeq };
    if (leases.isEmpty) return { ...ended, isIdle: true };
    const key = keys.session(ref);
    leases.leave(key, runName(ref));
    return { ...ended, isIdle: leases.isIdle(ref, key) };
  }
}
