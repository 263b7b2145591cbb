import { randomUUID } from 'node:crypto';
import {
  assertOptions,
  type Event,
  isToken,
  type JsonEntry,
  jsonEntries,
  keptJson,
  keys,
  MeshError,
  type SessionRef,
} from '@agentmesh/protocol';
import { getFunctionCalls, tokensOf } from '../../events/event.ts';
import { continuationPrefix, runName, runOfName } from '../../events/run-ids.ts';
import { type StateScope, scopeOf } from '../../events/state.ts';
import { hasAnswer } from '../pending-calls.ts';
import { askedAgain, type SessionLeases, type TakenSession } from '../session-leases.ts';
import { getOrCreateSession, listed, sliceOf } from '../session-list.ts';
import type {
  Attempt,
  CreateSessionRequest,
  DeleteSessionOptions,
  InvocationRecord,
  InvocationRef,
  ListSessionsRequest,
  ListSessionsResponse,
  Session,
  SessionService,
  StoredEvent,
  TurnNeed,
  TurnSession,
} from '../session-service.ts';
import type { UserRecords } from '../user-records.ts';
import {
  assertCurrent,
  beginRun,
  endRun,
  isDuplicate,
  isOver,
  newInvocation,
  recordOf,
  type StoredInvocation,
  takenOver,
} from './invocations.ts';
import { InMemoryLeases } from './leases.ts';
import {
  assertCount,
  bringUpToDate,
  eventReader,
  type JsonMap,
  notTheSame,
  parseEvent,
  readEvent,
  withPrefix,
} from './log.ts';
import { InMemoryPending } from './pending-calls.ts';
import { firstNeeded, noteTurn } from './turns.ts';

interface StoredSession {
  id: string;
  incarnation: string;
  hidden: boolean;
  created: number;
  updated: number;
  state: JsonMap;
  /** What it was created with. */
  initial: JsonMap;
  /** JSON; the event of seq n at n - 1. */
  events: string[];
  /** Call id → number of the first event of the invocations that it belongs to. */
  calls: Map<string, number>;
  /** Agent, or '' for all → number of the last event that its last summary stands for. */
  summaries: Map<string, number>;
  /** Author → number of the last event. */
  authors: Map<string, number>;
}

/** Keeps sessions in this process, for tests and for trying things out: what it holds ends with the process. */
export class InMemorySessionService implements SessionService {
  // Redis' keys here too: the same names are refused, and none can reach another's.
  readonly #keys = keys();
  readonly #sessions = new Map<string, Map<string, StoredSession>>();
  readonly #apps = new Map<string, JsonMap>();
  readonly #users = new Map<string, JsonMap>();
  readonly #invocations = new Map<string, StoredInvocation>();
  readonly #leases = new InMemoryLeases();
  readonly pending = new InMemoryPending({
    isAtWork: (ref) => {
      const holder = this.#leases.holderOf(this.#keys.session(ref));
      return holder !== undefined && runOfName(holder).invocationId === ref.invocationId;
    },
    hasEnded: (ref) => this.#knows(ref) && this.#invocation(ref).ends.has(ref.resume ?? ''),
  });

  readonly users: UserRecords = {
    sessionIds: async ({ appName, userId }) => {
      const ofUser = this.#sessions.get(this.#keys.sessions(appName, userId));
      return [...(ofUser?.values() ?? [])].map(({ id }) => id);
    },
    readSession: async (ref) => {
      const stored = this.#find(ref);
      if (!stored) return undefined;
      const { id: sessionId, hidden, created, updated, events, state, initial } = stored;
      const states = { state: withPrefix('', state), initialState: withPrefix('', initial) };
      return { sessionId, hidden, created, updated, seq: events.length, ...states };
    },
    runsIn: async (ref) =>
      this.#leases.runsOf(this.#keys.session(ref)).map((name) => ({ ...ref, ...runOfName(name) })),
    readState: async ({ appName, userId }) =>
      withPrefix('user:', this.#users.get(this.#keys.user(appName, userId))),
    forgetQueue: async (ref) => this.#leases.forget(this.#keys.session(ref)),
    deleteRest: async ({ appName, userId }) => {
      const key = this.#keys.user(appName, userId);
      const stateKeys = this.#users.get(key)?.size ?? 0;
      this.#users.delete(key);
      const prefix = this.#keys.invocation(appName, userId, '').slice(0, -'='.length);
      const left = [...this.#invocations.keys()].filter((each) => each.startsWith(prefix));
      for (const each of left) this.#invocations.delete(each);
      return { stateKeys, pending: this.pending.forgetUser({ appName, userId }), others: left.length };
    },
  };

  /** @throws MeshError `invalid_argument` for any option: there are none */
  constructor(options: Record<string, never> = {}) {
    assertOptions(
      'an InMemorySessionService',
      options,
      {},
      { isOpen: new.target !== InMemorySessionService },
    );
  }

  async createSession(request: Parameters<SessionService['createSession']>[0]): Promise<Session> {
    const { appName, userId, state = {}, sessionId = randomUUID(), hidden = false } = request;
    const ref = { appName, userId, sessionId };
    const ofUser = entry(this.#sessions, this.#keys.sessions(appName, userId), () => new Map());
    const key = this.#keys.session(ref);
    const delta = jsonEntries(state, 'the state');
    keptJson('state', JSON.stringify(state));
    if (ofUser.has(key)) {
      throw new MeshError('already_exists', `session ${sessionId} exists; use it or choose another id`);
    }
    const stored: StoredSession = {
      id: sessionId,
      incarnation: randomUUID(),
      hidden,
      created: Date.now(),
      updated: Date.now(),
      state: new Map(),
      initial: new Map(),
      events: [],
      calls: new Map(),
      summaries: new Map(),
      authors: new Map(),
    };
    ofUser.set(key, stored);
    this.#apply(ref, delta, { session: stored.state });
    stored.initial = new Map(stored.state);
    return this.#view(ref, stored, []);
  }

  async getSession(request: Parameters<SessionService['getSession']>[0]): Promise<Session | undefined> {
    const stored = this.#find(request);
    const select = eventReader(request.config);
    if (!stored) return undefined;
    return this.#view(request, stored, select(stored.events));
  }

  async readTurn(ref: InvocationRef, need: TurnNeed, knownSeq = 0): Promise<TurnSession | undefined> {
    const stored = this.#find(ref);
    if (!stored) return undefined;
    const key = this.#keys.invocation(ref.appName, ref.userId, ref.invocationId);
    const own = this.#invocations.get(key)?.firstSeqs.get(this.#keys.session(ref));
    const firstSeq = firstNeeded(need, stored, own);
    const events = stored.events.slice(Math.max(firstSeq, knownSeq) - 1).map(parseEvent);
    return { session: this.#view(ref, stored, events), firstSeq, incarnation: stored.incarnation };
  }

  getOrCreateSession(request: CreateSessionRequest): Promise<Session> {
    return getOrCreateSession(this, request);
  }

  async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    const slice = sliceOf(request);
    const { appName, userId, limit, offset, order } = slice;
    const ofUser = this.#sessions.get(this.#keys.sessions(appName, userId)) ?? new Map();
    const all = [...ofUser.values()].filter(({ hidden }: StoredSession) => !hidden).sort(newestFirst);
    if (order === 'asc') all.reverse();
    const page = all.slice(offset, offset + limit);
    const sessions = page.map((stored) => this.#view({ appName, userId, sessionId: stored.id }, stored, []));
    return listed(sessions, all.length, slice);
  }

  async initialState(ref: SessionRef): Promise<Record<string, unknown> | undefined> {
    const stored = this.#find(ref);
    return stored && withPrefix('', stored.initial);
  }

  async appendHistory(
    ref: SessionRef,
    { afterSeq, events }: Parameters<SessionService['appendHistory']>[1],
  ): Promise<void> {
    const read = events.map(readEvent);
    const stored = this.#find(ref);
    if (!stored) throw new MeshError('not_found', `session ${ref.sessionId} is gone; create a new one`);
    const last = events.at(-1);
    if (!last) return;
    if (stored.events.length !== afterSeq) {
      const there = stored.events[afterSeq + events.length - 1];
      if (there !== undefined && parseEvent(there).id === last.id) return;
      throw elsewhere(ref, afterSeq, stored.events.length);
    }
    for (const { json, delta } of read) {
      stored.events.push(json);
      this.#apply(
        ref,
        delta.filter(([key]) => scopeOf(key) === 'session'),
        { session: stored.state },
      );
    }
    for (const [at, { author = '' }] of events.entries()) stored.authors.set(author, afterSeq + at + 1);
    stored.updated = last.timestamp;
  }

  async deleteSession(ref: SessionRef, options: DeleteSessionOptions = {}): Promise<void> {
    const key = this.#keys.session(ref);
    const page = await this.readEvents({ ...ref, limit: Number.MAX_SAFE_INTEGER });
    const calls = page.flatMap(({ event }) => getFunctionCalls(event));
    for (const { id } of calls) {
      // The session of an ask belongs to the call that it was made for.
      const child = { ...ref, sessionId: id ?? '' };
      if (id !== undefined && isToken(id) && this.#find(child)?.hidden)
        await this.deleteSession(child, options);
    }
    if (page.length > 0) await options.onEvents?.(ref, page);
    await options.onEvents?.(ref, []);
    this.#sessions.get(this.#keys.sessions(ref.appName, ref.userId))?.delete(key);
    this.#leases.free(key);
    this.pending.forgetSession(ref);
    for (const [id, { owner, seqs, firstSeqs }] of this.#invocations) {
      if (owner === key) this.#invocations.delete(id);
      else {
        firstSeqs.delete(key);
        for (const of of seqs.keys()) if (of.startsWith(`${key} `)) seqs.delete(of);
      }
    }
  }

  async appendEvent({
    session,
    event,
    token,
    attempt,
    aside = false,
    whileOpen,
  }: Parameters<SessionService['appendEvent']>[0]): Promise<Event> {
    if (event.partial) return event;
    const ref = { appName: session.appName, userId: session.userId, sessionId: session.id };
    const { json, delta } = readEvent(event);
    const stored = this.#find(ref);
    if (!stored) throw new MeshError('not_found', `session ${session.id} is gone; create a new one`);
    const isKnown = this.#knows({ ...ref, invocationId: event.invocationId });
    const invocation = this.#invocation({ ...ref, invocationId: event.invocationId });
    if (aside && !isKnown) endRun(invocation, '', { status: 'completed' });
    assertCurrent(invocation, token);
    if (attempt && invocation.attempts.get(attempt.part) !== attempt.number) throw askedAgain();
    if (token !== undefined) {
      const run = nameOf(event.invocationId, invocation);
      const isOthers = this.#leases.isOthers(this.#keys.session(ref), run);
      if (isOthers || isOver(invocation)) throw takenOver();
      invocation.begun = 0;
    }
    const id = `${this.#keys.session(ref)} ${event.id}`;
    const known = invocation.seqs.get(id);
    if (known === undefined) {
      if (session.seq > stored.events.length) throw notTheSame(session.id);
      if (whileOpen !== undefined && !this.pending.isOpen({ ...ref, callId: whileOpen }))
        throw hasAnswer(whileOpen);
      stored.events.push(json);
      invocation.seqs.set(id, stored.events.length);
      invocation.tokens += tokensOf(event);
      this.pending.note(ref, JSON.parse(json));
      noteTurn(stored, invocation, this.#keys.session(ref), JSON.parse(json));
      stored.updated = event.timestamp;
      this.#apply(ref, delta, { session: stored.state, temp: invocation.temp });
    }
    const seq = known ?? stored.events.length;
    const missed = stored.events.slice(session.seq, seq).map(parseEvent);
    if (missed.length > 0) bringUpToDate(session, missed, delta);
    return parseEvent(stored.events[seq - 1] ?? json);
  }

  async readEvents(request: Parameters<SessionService['readEvents']>[0]): Promise<StoredEvent[]> {
    const { afterSeq = 0, limit = 1_000 } = request;
    assertCount('afterSeq', afterSeq);
    assertCount('limit', limit);
    const events = this.#find(request)?.events.slice(afterSeq, afterSeq + limit) ?? [];
    return events.map((json, at) => ({ seq: afterSeq + at + 1, event: parseEvent(json) }));
  }

  async getInvocation(ref: InvocationRef): Promise<InvocationRecord> {
    return recordOf(this.#invocations.get(this.#keys.invocation(ref.appName, ref.userId, ref.invocationId)));
  }

  async takeSession(...[ref, options]: Parameters<SessionLeases['takeSession']>): Promise<TakenSession> {
    const invocation = this.#invocation(ref);
    const { resume = '' } = ref;
    const key = this.#keys.session(ref);
    if (invocation.ends.has(resume)) return { state: 'ended' };
    if (!this.#find(ref) || (resume !== '' && invocation.owner !== key)) return { state: 'gone' };
    const isHeld = this.#leases.holderOf(key) === runName(ref);
    if (isHeld && isDuplicate(invocation, options.delivery)) return { state: 'duplicate' };
    const taken = this.#leases.take(key, ref, runName(ref), options);
    if (!taken.held) {
      const { holder } = taken;
      delete invocation.delivery;
      return { state: 'busy', ...(holder !== undefined && { holder: runOfName(holder).invocationId }) };
    }
    beginRun(invocation, resume);
    invocation.delivery = options.delivery ?? invocation.delivery;
    invocation.token += 1;
    invocation.begun += 1;
    const { token, begun, cancelled } = invocation;
    return { state: 'held', token, begun, ...(cancelled !== undefined && { cancelled }) };
  }

  async renewSession(ref: InvocationRef, token: number, leaseMs?: number): Promise<{ cancelled?: string }> {
    const invocation = this.#invocation(ref);
    assertCurrent(invocation, token);
    const run = nameOf(ref.invocationId, invocation);
    if (!this.#leases.renew(this.#keys.session(ref), run, leaseMs)) throw takenOver();
    return { ...(invocation.cancelled !== undefined && { cancelled: invocation.cancelled }) };
  }

  async giveBackSession(ref: InvocationRef, token: number): Promise<void> {
    const invocation = this.#invocation(ref);
    if (token === invocation.token) invocation.begun = 0;
  }

  async nextRun(ref: SessionRef): Promise<string | undefined> {
    return this.#leases.next(this.#keys.session(ref));
  }

  async promoteRun(ref: InvocationRef, leaseMs?: number): Promise<void> {
    if (this.#find(ref)) this.#leases.promote(this.#keys.session(ref), runName(ref), leaseMs);
  }

  async waitingSessions(limit: number): Promise<SessionRef[]> {
    return this.#leases.sessionsWithWaiting(limit);
  }

  async cancelInvocation(ref: InvocationRef, reason: string): Promise<InvocationRecord | undefined> {
    const { appName, userId, sessionId, invocationId, resume } = ref;
    const key = this.#keys.session(ref);
    const known = this.#invocations.get(this.#keys.invocation(appName, userId, invocationId));
    const waiting = this.#leases.waitingOf(
      key,
      runName(ref),
      resume === undefined ? continuationPrefix(invocationId) : undefined,
    );
    if (known ? known.owner !== key : waiting.length === 0) return undefined;
    const invocation = this.#invocation(ref);
    const isMeant = resume === undefined || invocation.run === resume;
    if (!isMeant && waiting.length === 0 && !invocation.ends.has(resume)) return undefined;
    if (isMeant && !isOver(invocation)) invocation.cancelled ??= reason;
    const error = { code: 'cancelled', message: reason };
    for (const run of waiting.map(runOfName))
      await this.endInvocation({ appName, userId, sessionId, ...run }, { status: 'failed', error });
    return await this.getInvocation(ref);
  }

  async beginAttempt(ref: InvocationRef, part: string): Promise<Attempt> {
    const { attempts } = this.#invocation(ref);
    const number = (attempts.get(part) ?? 0) + 1;
    attempts.set(part, number);
    return { part, number };
  }

  async countLlmCall(ref: InvocationRef, token?: number): Promise<number> {
    const invocation = this.#invocation(ref);
    assertCurrent(invocation, token);
    invocation.llmCalls += 1;
    return invocation.llmCalls;
  }

  async endInvocation(
    ref: InvocationRef,
    end: Parameters<SessionService['endInvocation']>[1],
    token?: number,
  ): Promise<InvocationRecord> {
    const invocation = this.#invocation(ref);
    assertCurrent(invocation, token);
    endRun(invocation, ref.resume ?? '', end);
    this.#leases.leave(this.#keys.session(ref), runName(ref));
    return await this.getInvocation(ref);
  }

  #find(ref: SessionRef): StoredSession | undefined {
    const key = this.#keys.session(ref);
    return this.#sessions.get(this.#keys.sessions(ref.appName, ref.userId))?.get(key);
  }

  #knows({ appName, userId, invocationId }: InvocationRef): boolean {
    return this.#invocations.has(this.#keys.invocation(appName, userId, invocationId));
  }

  #invocation(ref: InvocationRef): StoredInvocation {
    const key = this.#keys.invocation(ref.appName, ref.userId, ref.invocationId);
    const owner = this.#keys.session(ref);
    return entry(this.#invocations, key, () => newInvocation(owner));
  }

  /** Writes each entry in its scope; a scope without a map is dropped. */
  #apply(
    { appName, userId }: SessionRef,
    delta: JsonEntry[],
    own: { session: JsonMap; temp?: JsonMap },
  ): void {
    const scopes = {
      ...own,
      app: entry(this.#apps, this.#keys.app(appName), () => new Map()),
      user: entry(this.#users, this.#keys.user(appName, userId), () => new Map()),
    };
    for (const [key, json] of delta) {
      const scope = scopeOf(key);
      scopes[scope]?.set(key.slice(prefixes[scope].length), json);
    }
  }

  #view({ appName, userId }: SessionRef, stored: StoredSession, events: Event[]): Session {
    const state = {
      ...withPrefix('app:', this.#apps.get(this.#keys.app(appName))),
      ...withPrefix('user:', this.#users.get(this.#keys.user(appName, userId))),
      ...withPrefix('', stored.state),
    };
    const { id, updated, events: all } = stored;
    return { id, appName, userId, state, events, lastUpdateTime: updated, seq: all.length };
  }
}

const prefixes: Record<StateScope, string> = { app: 'app:', user: 'user:', temp: 'temp:', session: '' };

/** The error for history that does not go where it should. */
export function elsewhere({ sessionId }: SessionRef, afterSeq: number, seq: number): MeshError {
  return new MeshError(
    'failed_precondition',
    `session ${sessionId} has ${seq} events, and history is to be put after ${afterSeq}; read it again`,
  );
}

function newestFirst(a: StoredSession, b: StoredSession): number {
  return b.updated - a.updated || Buffer.compare(Buffer.from(b.id), Buffer.from(a.id));
}

/** Names the run of the invocation that is at work. */
function nameOf(invocationId: string, { run }: StoredInvocation): string {
  return runName({ invocationId, resume: run === '' ? undefined : run });
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
