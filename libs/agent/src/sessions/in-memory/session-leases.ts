import type { SessionRef } from '@agentmesh/protocol';
import { runName, runOfName } from '../../events/run-ids.ts';
import type { InvocationRef, RunEnd } from '../invocations.ts';
import { takeoverError } from '../session-errors.ts';
import type {
  Delivery,
  HeldSession,
  NextRun,
  NextRunOptions,
  PromoteOptions,
  SessionLeases,
  SessionView,
  SilentHolder,
  TakenSession,
  TakeOptions,
} from '../session-leases.ts';
import type { UserOwner } from '../user-records.ts';
import type { Busy } from './lease-table.ts';
import { isRunOf } from './overview.ts';
import {
  assertCurrent,
  beginAttempt,
  beginRun,
  currentRun,
  endRun,
  isDuplicate,
  recordOf,
  type StoredInvocation,
} from './stored-invocation.ts';
import type { Tables } from './tables.ts';

export class InMemorySessionLeases implements SessionLeases {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  async take(ref: InvocationRef, options: TakeOptions): Promise<TakenSession> {
    const { keys, leases } = this.#tables;
    const invocation = this.#tables.invocation(ref);
    const { resume = '' } = ref;
    const key = keys.session(ref);
    const run = runName(ref);
    this.#tables.recentRuns.note(ref, options.agent);
    const state = this.#refusal(ref, invocation, options);
    if (state === 'gone') this.#tables.recentRuns.forget(isRunOf(ref));
    if (state) return { state };
    const hasWaited = invocation.places?.has(run) ?? false;
    const place = invocation.places?.get(run) ?? options.place;
    const isBegun = invocation.taken === run;
    const { limits, onlyWaits = false } = options;
    if (isBegun && leases.isAlive(key, run) && isDuplicate(invocation, options.delivery))
      return { state: 'duplicate' };
    const result = leases.take(key, ref, run, {
      ...options,
      ...{ place, isBegun, hasWaited, onlyWaits, running: limits?.running },
      isLimited: limits !== undefined && resume === '',
      waiting: resume === '' && !hasWaited ? limits?.waiting?.most : undefined,
    });
    if (result.state === 'free') return { state: 'free' };
    if (result.state === 'refused') return this.#refuse(ref, invocation, limits?.waiting?.refusal);
    if (result.state === 'busy') return this.#wait(ref, invocation, options, result);
    if (options.agent !== undefined) invocation.agent = options.agent;
    return this.#hold(ref, invocation, options.delivery);
  }

  /** Leaves a run in the queue of its session, or rejects it. */
  #wait(
    ref: InvocationRef,
    invocation: StoredInvocation,
    { whenBusy, rejection }: TakeOptions,
    { holder, isFull, place }: Busy,
  ): TakenSession {
    delete invocation.delivery;
    const run = runName(ref);
    if (place !== undefined) {
      invocation.places ??= new Map();
      invocation.places.set(run, place);
      invocation.home = ref.sessionId;
    } else if (whenBusy === 'reject' && rejection) {
      invocation.home = ref.sessionId;
      endRun(invocation, ref.resume ?? '', rejection);
      this.#tables.leases.leave(this.#tables.keys.session(ref), run);
    }
    return {
      state: 'busy',
      ...(holder !== undefined && { holder: runOfName(holder).invocationId }),
      ...(isFull && { isFull: true }),
      ...(place === undefined && { isRejected: true }),
    };
  }

  /** Gives the session to a delivery of a run. */
  #hold(ref: InvocationRef, invocation: StoredInvocation, delivery: Delivery | undefined): HeldSession {
    beginRun(invocation, ref.resume ?? '');
    invocation.home = ref.sessionId;
    invocation.taken = runName(ref);
    invocation.delivery = delivery ?? invocation.delivery;
    invocation.token += 1;
    invocation.begun += 1;
    const { token, begun, cancelled } = invocation;
    const { events, incarnation = '' } = this.#tables.findSession(ref) ?? {};
    return {
      state: 'held',
      token,
      begun,
      seq: events?.length ?? 0,
      incarnation,
      attempt: delivery ? beginAttempt(invocation, delivery.part) : 1,
      record: recordOf(invocation),
      mark: '',
      ...(cancelled !== undefined && { cancelled }),
    };
  }

  /** Ends a run of a user who has too many waiting runs. */
  #refuse(ref: InvocationRef, invocation: StoredInvocation, refusal: RunEnd | undefined): TakenSession {
    invocation.home = ref.sessionId;
    if (refusal) endRun(invocation, ref.resume ?? '', refusal);
    this.#tables.leases.leave(this.#tables.keys.session(ref), runName(ref));
    return { state: 'refused' };
  }

  /** Returns the reason for which a run cannot have the session at any time; undefined if there is none. */
  #refusal(ref: InvocationRef, invocation: StoredInvocation, { incarnation, onlyNew }: TakeOptions) {
    const { resume = '' } = ref;
    const key = this.#tables.keys.session(ref);
    if (invocation.home !== undefined && invocation.home !== ref.sessionId)
      return resume === '' ? 'elsewhere' : 'gone';
    if (onlyNew && invocation.taken !== undefined) return 'begun';
    if (invocation.ends.has(resume)) {
      this.#tables.leases.leave(key, runName(ref));
      return 'ended';
    }
    const session = this.#tables.findSession(ref);
    const isOther = incarnation !== undefined && incarnation !== session?.incarnation;
    return !session || isOther || (resume !== '' && invocation.owner !== ref.sessionId) ? 'gone' : undefined;
  }

  async renew(ref: InvocationRef, token: number, leaseMs?: number): Promise<{ cancelled?: string }> {
    const { keys, leases } = this.#tables;
    const invocation = this.#tables.invocation(ref);
    assertCurrent(invocation, token);
    const run = currentRun(ref.invocationId, invocation);
    if (!leases.renew(keys.session(ref), run, leaseMs)) throw takeoverError();
    return { ...(invocation.cancelled !== undefined && { cancelled: invocation.cancelled }) };
  }

  async giveBack(ref: InvocationRef, token: number): Promise<void> {
    const invocation = this.#tables.invocation(ref);
    if (token === invocation.token) invocation.begun = 0;
  }

  async nextRun(from: SessionRef | UserOwner, options: NextRunOptions = {}): Promise<NextRun | undefined> {
    const { keys, leases } = this.#tables;
    const { running, skip = 0 } = options;
    if ('sessionId' in from && !this.#tables.findSession(from)) {
      const run = leases.next(keys.session(from));
      if (run !== undefined) return { sessionId: from.sessionId, run };
    }
    const next = leases.hasRoom(from, running) ? leases.ready(from)[skip] : undefined;
    return next && { sessionId: next.ref.sessionId, run: next.run };
  }

  async promote(ref: InvocationRef, options: PromoteOptions = {}): Promise<boolean> {
    const { keys, leases } = this.#tables;
    if (this.#tables.findSession(ref)) leases.promote(keys.session(ref), runName(ref), options);
    return leases.hasRoom(ref, options.running) && leases.ready(ref).length > 0;
  }

  async noteIdle(): Promise<void> {
    // The list is made of the leases.
  }

  async look(ref: SessionRef): Promise<SessionView | undefined> {
    const session = this.#tables.findSession(ref);
    if (!session) return undefined;
    const { events, incarnation } = session;
    return { seq: events.length, incarnation, waiting: this.#tables.leases.countWaiting(ref) };
  }

  async countWaiting(user: UserOwner): Promise<number> {
    return this.#tables.leases.countWaiting(user);
  }

  async leave(ref: InvocationRef): Promise<void> {
    if (this.#tables.findInvocation(ref)?.ends.has(ref.resume ?? ''))
      this.#tables.leases.leave(this.#tables.keys.session(ref), runName(ref));
  }

  async findSilent(ref: SessionRef): Promise<SilentHolder | undefined> {
    const holder = this.#tables.leases.silentHolder(this.#tables.keys.session(ref));
    return holder && { ...runOfName(holder.id), run: holder.run, asked: holder.asked };
  }

  async noteAsked(ref: InvocationRef, leaseMs?: number): Promise<boolean> {
    return this.#tables.leases.noteAsked(this.#tables.keys.session(ref), runName(ref), leaseMs);
  }

  async abandon(ref: InvocationRef, end: RunEnd): Promise<boolean> {
    const { keys, leases } = this.#tables;
    const key = keys.session(ref);
    const silent = leases.silentHolder(key);
    if (silent?.id !== runName(ref) || silent.asked === 0 || silent.run !== '') return false;
    endRun(this.#tables.invocation(ref), ref.resume ?? '', end);
    leases.leave(key, runName(ref));
    return true;
  }

  async busySessions(app: string, limit: number): Promise<SessionRef[]> {
    return this.#tables.leases.busySessions(app, limit);
  }

  async busyUsers(app: string, limit: number): Promise<UserOwner[]> {
    return this.#tables.leases.busyUsers(app, limit);
  }
}
