import {
  assertOptions,
  type Event,
  isToken,
  jsonEntries,
  keptJson,
  MeshError,
  type SessionRef,
} from '@agentmesh/protocol';
import { copyJson } from '../../events/copy-json.ts';
import { getFunctionCalls, newId, tokensOf } from '../../events/event.ts';
import { runName } from '../../events/run-ids.ts';
import { type Attempt, type EndingCommit, type InvocationRef, newerAttemptError } from '../invocations.ts';
import { callAnsweredError } from '../pending-calls.ts';
import type { Session } from '../session.ts';
import { noSession, sessionReplacedError, takeoverError } from '../session-errors.ts';
import {
  getOrCreateSession,
  type ListSessionsRequest,
  type ListSessionsResponse,
  listed,
  sliceOf,
} from '../session-list.ts';
import type {
  AppendEventRequest,
  CreateSessionRequest,
  DeleteSessionOptions,
  GetSessionRequest,
  SessionService,
} from '../session-service.ts';
import { bringUpToDate, eventReader, readEvent } from './event-log.ts';
import { InMemoryInvocations } from './invocations.ts';
import { InMemoryOverview, isRunOf } from './overview.ts';
import { InMemoryPendingCalls } from './pending-calls.ts';
import { InMemorySessionLeases } from './session-leases.ts';
import { InMemorySessionLog } from './session-log.ts';
import { assertCurrent, currentRun, endRun, isOver, type StoredInvocation } from './stored-invocation.ts';
import { type StoredSession, Tables } from './tables.ts';
import { noteTurn } from './turns.ts';
import { InMemoryUserRecords } from './user-records.ts';

/** A session service in the memory of this process, for tests and experiments. */
export class InMemorySessionService implements SessionService {
  readonly #tables = new Tables();
  readonly log = new InMemorySessionLog(this.#tables);
  readonly leases = new InMemorySessionLeases(this.#tables);
  readonly invocations = new InMemoryInvocations(this.#tables);
  readonly pending = new InMemoryPendingCalls(this.#tables);
  readonly users = new InMemoryUserRecords(this.#tables, this.pending);
  readonly overview = new InMemoryOverview(this.#tables.recentRuns, this.pending);

  /** @throws MeshError `invalid_argument` for any option, as there are none */
  constructor(options: Record<string, never> = {}) {
    assertOptions(
      'an InMemorySessionService',
      options,
      {},
      { isOpen: new.target !== InMemorySessionService },
    );
  }

  async createSession(request: CreateSessionRequest): Promise<Session> {
    const { appName, userId, state = {}, sessionId = newId(), hidden = false } = request;
    const ref = { appName, userId, sessionId };
    const ofUser = this.#tables.sessionsOf(ref);
    this.#tables.keys.session(ref);
    const delta = jsonEntries(state, 'the state');
    keptJson('state', JSON.stringify(state));
    if (ofUser.has(sessionId)) {
      throw new MeshError('already_exists', `session ${sessionId} exists; use it or choose another id`);
    }
    const stored = this.#tables.addSession(ref, hidden);
    this.#tables.apply(ref, delta, { session: stored });
    if (stored.state) stored.initial = new Map(stored.state);
    return this.#tables.view(ref, stored, []);
  }

  async getSession(request: GetSessionRequest): Promise<Session | undefined> {
    const stored = this.#tables.findSession(request);
    const select = eventReader(request.config);
    if (!stored) return undefined;
    return this.#tables.view(request, stored, select(stored.events));
  }

  getOrCreateSession(request: CreateSessionRequest): Promise<Session> {
    return getOrCreateSession(this, request);
  }

  async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    const slice = sliceOf(request);
    const { appName, userId, limit, offset, order } = slice;
    const ofUser = this.#tables.sessionsOf({ appName, userId });
    const all = [...ofUser.values()].filter(({ hidden }) => !hidden).sort(newestFirst);
    if (order === 'asc') all.reverse();
    const page = all.slice(offset, offset + limit);
    const sessions = page.map((stored) => this.#tables.view({ appName, userId }, stored, []));
    return listed(sessions, all.length, slice);
  }

  async deleteSession(ref: SessionRef, options: DeleteSessionOptions = {}): Promise<void> {
    this.#tables.recentRuns.forget(isRunOf(ref));
    const key = this.#tables.keys.session(ref);
    const page = await this.log.readEvents({ ...ref, limit: Number.MAX_SAFE_INTEGER });
    const calls = page.flatMap(({ event }) => getFunctionCalls(event));
    for (const { id } of calls) {
      // The session of an ask belongs to the call for which it was made.
      const child = { ...ref, sessionId: id ?? '' };
      if (id !== undefined && isToken(id) && this.#tables.findSession(child)?.hidden)
        await this.deleteSession(child, options);
    }
    if (page.length > 0) await options.onEvents?.(ref, page);
    await options.onEvents?.(ref, []);
    this.#tables.sessionsOf(ref).delete(ref.sessionId);
    this.#tables.leases.free(key);
    this.pending.forgetSession(ref);
    for (const [id, invocation] of this.#tables.findUser(ref)?.invocations ?? []) {
      if (invocation.owner === ref.sessionId) this.#tables.keepEnds(ref, id, invocation);
    }
  }

  async appendEvent({
    session,
    event,
    token,
    attempt,
    aside = false,
    whileOpen,
    calls,
    end,
  }: AppendEventRequest): Promise<Event> {
    if (event.partial) return event;
    const ref = { appName: session.appName, userId: session.userId, sessionId: session.id };
    const { stored: committed, delta } = readEvent(event);
    const stored = this.#tables.findSession(ref);
    if (!stored) throw noSession(ref);
    const invocationRef = { ...ref, invocationId: event.invocationId };
    const isNew = aside && this.#tables.findInvocation(invocationRef) === undefined;
    const invocation = this.#tables.invocation(invocationRef);
    if (isNew) endRun(invocation, '', { status: 'completed' });
    assertNewest(invocation, attempt);
    const storedSeq = numberOf(stored, event);
    const isRepeatedEnd = end !== undefined && storedSeq !== undefined;
    this.#assertHolds(invocationRef, invocation, token, isRepeatedEnd);
    if (token !== undefined && event.author !== 'user') invocation.begun = 0;
    if (storedSeq === undefined) {
      if (session.seq > stored.events.length) throw sessionReplacedError(session);
      this.#assertOpen(ref, whileOpen);
      stored.events.push(committed);
      stored.ids.set(event.id, stored.events.length);
      invocation.tokens += tokensOf(event);
      invocation.llmCalls += calls?.uncounted ?? 0;
      this.pending.note(ref, committed);
      noteTurn(stored, committed);
      stored.updated = event.timestamp;
      if (delta.length > 0) this.#tables.apply(ref, delta, { session: stored, invocation });
    }
    if (end) this.#endRun(invocationRef, invocation, end);
    if (calls) Object.assign(calls, { uncounted: 0, counted: invocation.llmCalls });
    const seq = storedSeq ?? stored.events.length;
    if (session.seq < seq) bringUpToDate(session, stored.events.slice(session.seq, seq), delta);
    return copyJson(stored.events[seq - 1] ?? committed);
  }

  /** @throws MeshError `failed_precondition` for a call that is not pending */
  #assertOpen(ref: SessionRef, callId: string | undefined): void {
    if (callId !== undefined && !this.pending.isOpen({ ...ref, callId })) throw callAnsweredError(callId);
  }

  #endRun(ref: InvocationRef, invocation: StoredInvocation, end: EndingCommit): void {
    const { leases, keys } = this.#tables;
    const key = keys.session(ref);
    endRun(invocation, end.resume ?? '', end.as);
    leases.leave(key, runName({ ...ref, ...end }));
    end.isIdle = leases.isIdle(ref, key);
  }

  /**
   * @param isRepeatedEnd true for a run that has committed its last event, and has left the session by now
   * @throws MeshError `aborted` unless the token is the newest and its run has the session
   */
  #assertHolds(
    ref: InvocationRef,
    invocation: StoredInvocation,
    token: number | undefined,
    isRepeatedEnd: boolean,
  ): void {
    assertCurrent(invocation, token);
    if (token === undefined || isRepeatedEnd) return;
    const holder = this.#tables.leases.holderOf(this.#tables.keys.session(ref));
    // Nobody holds the session of a call: it belongs to the run of its caller.
    const isHeld = holder === undefined && this.#tables.findSession(ref)?.hidden;
    if (isOver(invocation) || (holder !== currentRun(ref.invocationId, invocation) && !isHeld))
      throw takeoverError();
  }
}

/** Returns the number of an event that its invocation has committed before. */
function numberOf({ ids, events }: StoredSession, { id, invocationId }: Event): number | undefined {
  const seq = ids.get(id);
  if (seq === undefined || events[seq - 1]?.invocationId === invocationId) return seq;
  // Another invocation has committed an event with the same id since, if this one has.
  const at = events.findLastIndex((each) => each.id === id && each.invocationId === invocationId);
  return at === -1 ? undefined : at + 1;
}

function newestFirst(a: StoredSession, b: StoredSession): number {
  return b.updated - a.updated || Buffer.compare(Buffer.from(b.id), Buffer.from(a.id));
}

/** @throws MeshError `aborted` for an attempt that is not the newest at its part */
function assertNewest({ attempts }: StoredInvocation, attempt: Attempt | undefined): void {
  if (attempt && attempts?.get(attempt.part) !== attempt.number) throw newerAttemptError();
}
