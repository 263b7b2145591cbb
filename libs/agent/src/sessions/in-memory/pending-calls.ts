import type { Event, SessionRef } from '@agentmesh/protocol';
import { runOfName } from '../../events/run-ids.ts';
import { concernsPending, type PendingCall, pendingChanges } from '../derive-pending.ts';
import type { AnswerReservation, AnswerState, CallRef, PendingCalls } from '../pending-calls.ts';
import type { UserOwner } from '../user-records.ts';
import type { Tables } from './tables.ts';

type Answer = { by: 'agent' | 'user'; digest: string; reservation?: AnswerReservation };

interface StoredCall {
  ref: CallRef;
  call: PendingCall;
  isOpen: boolean;
  answer?: Answer;
  progress?: number;
  /** Time of the next deadline check, epoch ms. */
  dueAt?: number;
}

/** The pending calls in this process: the twin of the scripts on Redis. */
export class InMemoryPendingCalls implements PendingCalls {
  readonly #calls = new Map<string, StoredCall>();
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** Applies a committed event. */
  note({ appName, userId, sessionId }: SessionRef, event: Event): void {
    if (!concernsPending(event)) return;
    const { opened, closed } = pendingChanges(event, sessionId);
    for (const call of opened) {
      const ref = { appName, userId, sessionId, callId: call.id };
      const dueAt = call.deadline;
      this.#calls.set(this.#keyOf(ref), { ref, call, isOpen: true, ...(dueAt !== undefined && { dueAt }) });
    }
    for (const { id, by, digest } of closed) {
      const stored = this.#calls.get(this.#keyOf({ appName, userId, sessionId, callId: id }));
      if (!stored?.isOpen) continue;
      stored.isOpen = false;
      stored.answer ??= { by, digest };
    }
  }

  isOpen(ref: CallRef): boolean {
    return this.#calls.get(this.#keyOf(ref))?.isOpen ?? false;
  }

  forgetSession({ appName, userId, sessionId }: SessionRef): void {
    for (const [key, { ref }] of this.#calls) {
      if (ref.sessionId === sessionId && ref.userId === userId && ref.appName === appName)
        this.#calls.delete(key);
    }
  }

  /** Deletes the pending calls of a user. Returns the number of calls that were open. */
  forgetUser({ appName, userId }: UserOwner): number {
    let count = 0;
    for (const [key, { ref, isOpen }] of this.#calls) {
      if (ref.userId !== userId || ref.appName !== appName) continue;
      this.#calls.delete(key);
      if (isOpen) count += 1;
    }
    return count;
  }

  async list({ appName, userId, sessionId }: Parameters<PendingCalls['list']>[0]): Promise<PendingCall[]> {
    const pending = [...this.#calls.values()].filter(
      ({ ref, isOpen }) =>
        isOpen &&
        ref.appName === appName &&
        ref.userId === userId &&
        (sessionId === undefined || ref.sessionId === sessionId),
    );
    return structuredClone(pending.map(({ call }) => call).sort(oldestFirst));
  }

  /** Lists the users of an app who have pending calls, those with the newest first. */
  waitingUsers(app: string): UserOwner[] {
    const open = [...this.#calls.values()].filter(({ ref, isOpen }) => isOpen && ref.appName === app);
    const users = open.sort((a, b) => b.call.created - a.call.created).map(({ ref }) => ref.userId);
    return [...new Set(users)].map((userId) => ({ appName: app, userId }));
  }

  async ofTool(user: Parameters<PendingCalls['ofTool']>[0], tool: string): Promise<PendingCall[]> {
    return (await this.list(user)).filter(({ name }) => name === tool);
  }

  async get(ref: CallRef): Promise<PendingCall | undefined> {
    const stored = this.#calls.get(this.#keyOf(ref));
    return stored?.isOpen ? structuredClone(stored.call) : undefined;
  }

  async sessionsAsking(callId: string): Promise<SessionRef[]> {
    const matching = [...this.#calls.values()].filter(({ ref }) => ref.callId === callId);
    return matching.map(({ ref: { appName, userId, sessionId } }) => ({ appName, userId, sessionId }));
  }

  async accept(ref: CallRef, reservation: AnswerReservation): Promise<AnswerState> {
    const stored = this.#calls.get(this.#keyOf(ref));
    if (!stored) return { state: 'unknown' };
    const answer = stored.answer;
    if (answer?.reservation?.key === reservation.key) return { state: 'repeated' };
    const isVoid = stored.isOpen && answer?.reservation && this.#hasEnded(ref, answer.reservation);
    if (answer && !isVoid) {
      return answer.digest === reservation.digest
        ? { state: 'duplicate' }
        : { state: 'answered', by: answer.by };
    }
    if (this.#isAtWork(ref, reservation.callers)) return { state: 'busy' };
    stored.answer = { by: 'user', digest: reservation.digest, reservation };
    return { state: 'accepted' };
  }

  async stateOf(ref: CallRef): Promise<'open' | 'answered' | 'unknown'> {
    const stored = this.#calls.get(this.#keyOf(ref));
    if (!stored) return 'unknown';
    return stored.isOpen ? 'open' : 'answered';
  }

  async isReservedBy(ref: CallRef, key: string): Promise<boolean> {
    return this.#calls.get(this.#keyOf(ref))?.answer?.reservation?.key === key;
  }

  async release(ref: CallRef, key: string): Promise<void> {
    const stored = this.#calls.get(this.#keyOf(ref));
    if (stored?.isOpen && stored.answer?.reservation?.key === key) delete stored.answer;
  }

  async noteProgress(ref: CallRef, seq: number): Promise<boolean> {
    const stored = this.#calls.get(this.#keyOf(ref));
    if (!stored?.isOpen || seq < (stored.progress ?? 0)) return false;
    stored.progress = seq;
    return true;
  }

  async overdue(service: string, limit: number): Promise<CallRef[]> {
    const now = Date.now();
    return [...this.#calls.values()]
      .filter(({ call, dueAt, isOpen }) => isOpen && call.service === service && (dueAt ?? now + 1) <= now)
      .sort((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0))
      .slice(0, limit)
      .map(({ ref }) => ({ ...ref }));
  }

  async forgetDeadline(_service: string, ref: CallRef): Promise<void> {
    const stored = this.#calls.get(this.#keyOf(ref));
    if (stored) delete stored.dueAt;
  }

  async postponeDeadline(_service: string, ref: CallRef, until: number): Promise<void> {
    const stored = this.#calls.get(this.#keyOf(ref));
    if (stored?.dueAt !== undefined) stored.dueAt = until;
  }

  /** Tells whether one of these invocations has the session now. */
  #isAtWork(ref: SessionRef, invocationIds: readonly string[]): boolean {
    const { keys, leases } = this.#tables;
    const holder = leases.holderOf(keys.session(ref));
    return holder !== undefined && invocationIds.includes(runOfName(holder).invocationId);
  }

  /** Tells whether the run that should have used the answer has ended. */
  #hasEnded(ref: SessionRef, { run }: AnswerReservation): boolean {
    const invocation = run && this.#tables.findInvocation({ ...ref, ...run });
    return invocation?.ends.has(run?.resume ?? '') ?? false;
  }

  #keyOf(ref: CallRef): string {
    return JSON.stringify([this.#tables.keys.session(ref), ref.callId]);
  }
}

function oldestFirst(a: PendingCall, b: PendingCall): number {
  return a.created - b.created || (a.id < b.id ? -1 : 1);
}
