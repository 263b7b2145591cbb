import { randomUUID } from 'node:crypto';
import {
  type Event,
  isToken,
  type JsonEntry,
  jsonEntries,
  keys,
  MeshError,
  type SessionRef,
  toJson,
} from '@agentmesh/protocol';
import { getFunctionCalls, tokensOf } from './event.ts';
import { InMemoryLeases } from './in-memory-leases.ts';
import {
  assertCount,
  bringUpToDate,
  eventFilter,
  type JsonMap,
  notTheSame,
  parseEvent,
  readEvent,
  withPrefix,
} from './in-memory-log.ts';
import { InMemoryPending } from './in-memory-pending.ts';
import { askedAgain, type SessionLeases, type TakenSession } from './session-leases.ts';
import type {
  Attempt,
  InvocationRecord,
  InvocationRef,
  ListSessionsRequest,
  ListSessionsResponse,
  Session,
  SessionService,
  StoredEvent,
} from './session-service.ts';
import { type StateScope, scopeOf } from './state.ts';

interface StoredSession {
  id: string;
  hidden: boolean;
  updated: number;
  state: JsonMap;
  /** JSON; the event of seq n at n - 1. */
  events: string[];
}

interface StoredInvocation {
  /** The session that used it first; it goes with that one. */
  owner: string;
  temp: JsonMap;
  llmCalls: number;
  tokens: number;
  token: number;
  begun: number;
  /** Part → number of the newest attempt at it. */
  attempts: Map<string, number>;
  cancelled?: string;
  /** Session key and event id → seq. A child session of an ask shares its caller's invocation. */
  seqs: Map<string, number>;
  end?: string;
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
    isAtWork: (ref) => this.#leases.isHeldBy(this.#keys.session(ref), ref.invocationId),
    hasEnded: async (ref) => this.#knows(ref) && (await this.getInvocation(ref)).status !== 'running',
  });

  async createSession(request: Parameters<SessionService['createSession']>[0]): Promise<Session> {
    const { appName, userId, state = {}, sessionId = randomUUID(), hidden = false } = request;
    const ref = { appName, userId, sessionId };
    const ofUser = entry(this.#sessions, this.#keys.sessions(appName, userId), () => new Map());
    const key = this.#keys.session(ref);
    const delta = jsonEntries(state, 'the state');
    if (ofUser.has(key)) {
      throw new MeshError('already_exists', `session ${sessionId} exists; use it or choose another id`);
    }
    const stored = { id: sessionId, hidden, updated: Date.now(), state: new Map(), events: [] };
    ofUser.set(key, stored);
    this.#apply(ref, delta, { session: stored.state });
    return this.#view(ref, stored, []);
  }

  async getSession(request: Parameters<SessionService['getSession']>[0]): Promise<Session | undefined> {
    const stored = this.#find(request);
    const select = eventFilter(request.config);
    if (!stored) return undefined;
    return this.#view(request, stored, select(stored.events.map(parseEvent)));
  }

  async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    const { appName, userId, limit = 100, offset = 0 } = request;
    assertCount('limit', limit);
    assertCount('offset', offset);
    const ofUser = this.#sessions.get(this.#keys.sessions(appName, userId)) ?? new Map();
    const all = [...ofUser.values()].filter(({ hidden }: StoredSession) => !hidden).sort(newestFirst);
    const page = all.slice(offset, offset + limit);
    const sessions = page.map((stored) => this.#view({ appName, userId, sessionId: stored.id }, stored, []));
    return { sessions, totalItems: all.length };
  }

  async deleteSession(ref: SessionRef): Promise<void> {
    const key = this.#keys.session(ref);
    const calls = (this.#find(ref)?.events ?? []).flatMap((json) => getFunctionCalls(JSON.parse(json)));
    for (const { id } of calls) {
      // The session of an ask belongs to the call that it was made for.
      const child = { ...ref, sessionId: id ?? '' };
      if (id !== undefined && isToken(id) && this.#find(child)?.hidden) await this.deleteSession(child);
    }
    this.#sessions.get(this.#keys.sessions(ref.appName, ref.userId))?.delete(key);
    this.#leases.free(key);
    this.pending.forgetSession(ref);
    for (const [id, { owner, seqs }] of this.#invocations) {
      if (owner === key) this.#invocations.delete(id);
      else for (const of of seqs.keys()) if (of.startsWith(`${key} `)) seqs.delete(of);
    }
  }

  async appendEvent({
    session,
    event,
    token,
    attempt,
    aside = false,
  }: Parameters<SessionService['appendEvent']>[0]): Promise<Event> {
    if (event.partial) return event;
    const ref = { appName: session.appName, userId: session.userId, sessionId: session.id };
    const { json, delta } = readEvent(event);
    const stored = this.#find(ref);
    if (!stored) throw new MeshError('not_found', `session ${session.id} is gone; create a new one`);
    const isKnown = this.#knows({ ...ref, invocationId: event.invocationId });
    const invocation = this.#invocation({ ...ref, invocationId: event.invocationId });
    if (aside && !isKnown) invocation.end = JSON.stringify({ status: 'completed' });
    assertCurrent(invocation, token);
    if (attempt && invocation.attempts.get(attempt.part) !== attempt.number) throw askedAgain();
    if (token !== undefined) {
      const isOthers = this.#leases.isOthers(this.#keys.session(ref), event.invocationId);
      if (isOthers || invocation.end !== undefined) throw takenOver();
      invocation.begun = 0;
    }
    const id = `${this.#keys.session(ref)} ${event.id}`;
    const known = invocation.seqs.get(id);
    if (known === undefined) {
      if (session.seq > stored.events.length) throw notTheSame(session.id);
      stored.events.push(json);
      invocation.seqs.set(id, stored.events.length);
      invocation.tokens += tokensOf(event);
      this.pending.note(ref, JSON.parse(json));
      stored.updated = event.timestamp;
      this.#apply(ref, delta, { session: stored.state, temp: invocation.temp });
    }
    const seq = known ?? stored.events.length;
    const missed = stored.events.slice(session.seq, seq).map(parseEvent);
    if (missed.length > 0) bringUpToDate(session, missed, delta);
    return missed.at(-1) ?? parseEvent(stored.events[seq - 1] ?? json);
  }

  async readEvents(request: Parameters<SessionService['readEvents']>[0]): Promise<StoredEvent[]> {
    const { afterSeq = 0, limit = 1_000 } = request;
    assertCount('afterSeq', afterSeq);
    assertCount('limit', limit);
    const events = this.#find(request)?.events.slice(afterSeq, afterSeq + limit) ?? [];
    return events.map((json, at) => ({ seq: afterSeq + at + 1, event: parseEvent(json) }));
  }

  async getInvocation(ref: InvocationRef): Promise<InvocationRecord> {
    const found = this.#invocations.get(this.#keys.invocation(ref.appName, ref.userId, ref.invocationId));
    const end = found?.end === undefined ? { status: 'running' } : JSON.parse(found.end);
    return {
      ...end,
      temp: withPrefix('temp:', found?.temp),
      llmCalls: found?.llmCalls ?? 0,
      tokens: found?.tokens ?? 0,
      ...(found?.cancelled !== undefined && { cancelled: found.cancelled }),
    };
  }

  async takeSession(...[ref, options]: Parameters<SessionLeases['takeSession']>): Promise<TakenSession> {
    const invocation = this.#invocation(ref);
    if (invocation.end !== undefined) return { state: 'ended' };
    if (!this.#find(ref)) return { state: 'gone' };
    const taken = this.#leases.take(this.#keys.session(ref), ref, ref.invocationId, options);
    if (!taken.held) return { state: 'busy', ...(taken.holder !== undefined && { holder: taken.holder }) };
    invocation.token += 1;
    invocation.begun += 1;
    const { token, begun, cancelled } = invocation;
    return { state: 'held', token, begun, ...(cancelled !== undefined && { cancelled }) };
  }

  async renewSession(ref: InvocationRef, token: number, leaseMs?: number): Promise<{ cancelled?: string }> {
    const invocation = this.#invocation(ref);
    assertCurrent(invocation, token);
    if (!this.#leases.renew(this.#keys.session(ref), ref.invocationId, leaseMs)) throw takenOver();
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
    if (this.#find(ref)) this.#leases.promote(this.#keys.session(ref), ref.invocationId, leaseMs);
  }

  async waitingSessions(limit: number): Promise<SessionRef[]> {
    return this.#leases.sessionsWithWaiting(limit);
  }

  async cancelInvocation(ref: InvocationRef, reason: string): Promise<InvocationRecord | undefined> {
    const key = this.#keys.session(ref);
    const known = this.#invocations.get(this.#keys.invocation(ref.appName, ref.userId, ref.invocationId));
    if (known ? known.owner !== key : !this.#leases.isWaiting(key, ref.invocationId)) return undefined;
    const invocation = this.#invocation(ref);
    if (invocation.end === undefined) {
      invocation.cancelled ??= reason;
      if (this.#leases.isWaiting(key, ref.invocationId)) {
        const error = { code: 'cancelled', message: reason };
        return await this.endInvocation(ref, { status: 'failed', error });
      }
    }
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
    invocation.end ??= toJson(end, 'the end');
    this.#leases.leave(this.#keys.session(ref), ref.invocationId);
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
    return entry(this.#invocations, key, () => ({
      owner,
      temp: new Map(),
      llmCalls: 0,
      tokens: 0,
      token: 0,
      begun: 0,
      attempts: new Map(),
      seqs: new Map(),
    }));
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

function newestFirst(a: StoredSession, b: StoredSession): number {
  return b.updated - a.updated || Buffer.compare(Buffer.from(b.id), Buffer.from(a.id));
}

/** @throws MeshError `aborted` for a token that is not the newest */
function assertCurrent(invocation: StoredInvocation, token: number | undefined): void {
  // Without a token there, the session was deleted since.
  if (token === undefined || (invocation.token > 0 && token >= invocation.token)) return;
  throw takenOver();
}

function takenOver(): MeshError {
  return new MeshError('aborted', 'another delivery of this run has taken over');
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
