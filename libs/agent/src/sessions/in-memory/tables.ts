import { type Event, type JsonEntry, keys, type SessionRef } from '@agentmesh/protocol';
import { type StateScope, scopeOf } from '../../events/state.ts';
import type { InvocationRef } from '../invocations.ts';
import { noteIncarnation, type Session } from '../session.ts';
import type { UserOwner } from '../user-records.ts';
import { type EventLog, type JsonMap, withPrefix } from './event-log.ts';
import { LeaseTable } from './lease-table.ts';
import { RecentRunTable } from './overview.ts';
import { endsOnly, newInvocation, type StoredInvocation } from './stored-invocation.ts';

export interface StoredSession {
  id: string;
  incarnation: string;
  hidden: boolean;
  created: number;
  updated: number;
  state?: JsonMap;
  /** The state with which the session was created. */
  initial?: JsonMap;
  /** The event with number n is at n - 1. */
  events: EventLog;
  /** For each event id: number of the last event with it that was committed, not imported. */
  ids: Map<string, number>;
  /**
   * For each invocation: number of its first event here, or of the first event of the invocations whose calls it
   * answers.
   */
  firstSeqs: Map<string, number>;
  /** For each call id: number of the first event of the invocations to which it belongs. */
  calls?: Map<string, number>;
  /** For each agent ('' for all): number of the last event that its last summary covers. */
  summaries?: Map<string, number>;
  /** For each author: number of the last event. */
  authors: Map<string, number>;
}

function newSession(id: string, hidden: boolean, incarnation: string): StoredSession {
  return {
    id,
    incarnation,
    hidden,
    created: Date.now(),
    updated: Date.now(),
    events: [],
    ids: new Map(),
    firstSeqs: new Map(),
    authors: new Map(),
  };
}

/** The data of one user of an app. */
interface StoredUser {
  /** By id. */
  sessions: Map<string, StoredSession>;
  /** By id. */
  invocations: Map<string, StoredInvocation>;
  state?: JsonMap;
}

interface StoredApp {
  users: Map<string, StoredUser>;
  state?: JsonMap;
}

/**
 * The tables that all parts of an in-memory session service share. Names that the keys of Redis refuse are refused
 * here too.
 */
export class Tables {
  readonly keys = keys();
  readonly leases = new LeaseTable();
  readonly recentRuns = new RecentRunTable();
  readonly #apps = new Map<string, StoredApp>();
  #incarnations = 0;

  /** Returns the data of a user; undefined for an unknown user. */
  findUser({ appName, userId }: UserOwner): StoredUser | undefined {
    return this.#apps.get(appName)?.users.get(userId);
  }

  #app(appName: string): StoredApp {
    return entry(this.#apps, appName, () => ({ users: new Map() }));
  }

  #user({ appName, userId }: UserOwner): StoredUser {
    const make = () => ({ sessions: new Map(), invocations: new Map() });
    return entry(this.#app(appName).users, userId, make);
  }

  /** Returns the sessions of a user by id; an empty table for an unknown user. */
  sessionsOf(user: UserOwner): Map<string, StoredSession> {
    const found = this.findUser(user);
    if (!found) this.keys.sessions(user.appName, user.userId);
    return found?.sessions ?? new Map();
  }

  /** Adds a session under a new id. */
  addSession(ref: SessionRef, hidden: boolean): StoredSession {
    const user = this.#user(ref);
    this.#incarnations += 1;
    const stored = newSession(ref.sessionId, hidden, String(this.#incarnations));
    user.sessions.set(ref.sessionId, stored);
    return stored;
  }

  findSession(ref: SessionRef): StoredSession | undefined {
    const found = this.findUser(ref)?.sessions.get(ref.sessionId);
    if (!found) this.keys.session(ref);
    return found;
  }

  findInvocation(ref: InvocationRef): StoredInvocation | undefined {
    const found = this.findUser(ref)?.invocations.get(ref.invocationId);
    if (!found) this.keys.invocation(ref.appName, ref.userId, ref.invocationId);
    return found;
  }

  /** Returns the invocation's record, and creates it when there is none. */
  invocation(ref: InvocationRef): StoredInvocation {
    const found = this.findInvocation(ref);
    if (found) return found;
    this.keys.session(ref);
    const created = newInvocation(ref.sessionId);
    this.#user(ref).invocations.set(ref.invocationId, created);
    return created;
  }

  /** Ends an invocation of a deleted session, and removes all but its ends, which are kept for a while. */
  keepEnds(user: UserOwner, invocationId: string, invocation: StoredInvocation): void {
    const { invocations } = this.#user(user);
    invocations.delete(invocationId);
    // Work that has never had or wanted the session leaves nothing.
    if (invocation.home === undefined) return;
    const kept = endsOnly(invocation);
    invocations.set(invocationId, kept);
    const forget = () => {
      if (invocations.get(invocationId) === kept) invocations.delete(invocationId);
    };
    setTimeout(forget, keptEndsMs).unref();
  }

  /** Writes each entry to its scope; entries of `temp:` without an invocation are dropped. */
  apply(
    ref: SessionRef,
    delta: JsonEntry[],
    { session, invocation }: { session: { state?: JsonMap }; invocation?: { temp?: JsonMap } },
  ): void {
    const of = { app: this.#app(ref.appName), user: this.#user(ref), session };
    for (const [key, json] of delta) {
      const scope = scopeOf(key);
      const name = key.slice(prefixes[scope].length);
      if (scope !== 'temp') {
        of[scope].state ??= new Map();
        of[scope].state.set(name, json);
      } else if (invocation) {
        invocation.temp ??= new Map();
        invocation.temp.set(name, json);
      }
    }
  }

  /** Returns the session for its agents, with these of its events. */
  view({ appName, userId }: UserOwner, stored: StoredSession, events: Event[]): Session {
    const state = {
      ...withPrefix('app:', this.#apps.get(appName)?.state),
      ...withPrefix('user:', this.findUser({ appName, userId })?.state),
      ...withPrefix('', stored.state),
    };
    const { id, updated, events: all } = stored;
    const session = { id, appName, userId, state, events, lastUpdateTime: updated, seq: all.length };
    return noteIncarnation(session, stored.incarnation);
  }
}

/** Time for which the ends of a deleted session's runs are kept, in ms. */
const keptEndsMs = 600_000;

const prefixes: Record<StateScope, string> = { app: 'app:', user: 'user:', temp: 'temp:', session: '' };

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  const existing = map.get(key);
  if (existing !== undefined) return existing;
  const created = make();
  map.set(key, created);
  return created;
}
