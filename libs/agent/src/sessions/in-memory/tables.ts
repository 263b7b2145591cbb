import { randomUUID } from 'node:crypto';
import { type Event, type JsonEntry, keys, type SessionRef } from '@agentmesh/protocol';
import { type StateScope, scopeOf } from '../../events/state.ts';
import type { InvocationRef } from '../invocations.ts';
import { noteIncarnation, type Session } from '../session.ts';
import type { UserOwner } from '../user-records.ts';
import { type JsonMap, withPrefix } from './event-log.ts';
import { LeaseTable } from './lease-table.ts';
import { RecentRunTable } from './overview.ts';
import { endsOnly, newInvocation, type StoredInvocation } from './stored-invocation.ts';

export interface StoredSession {
  id: string;
  incarnation: string;
  hidden: boolean;
  created: number;
  updated: number;
  state: JsonMap;
  /** The state with which the session was created. */
  initial: JsonMap;
  /** JSON; the event with number n is at n - 1. */
  events: string[];
  /** For each call id: number of the first event of the invocations to which it belongs. */
  calls: Map<string, number>;
  /** For each agent ('' for all): number of the last event that its last summary covers. */
  summaries: Map<string, number>;
  /** For each author: number of the last event. */
  authors: Map<string, number>;
}

export function newSession(id: string, hidden: boolean): StoredSession {
  return {
    id,
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
}

/** The tables that all parts of an in-memory session service share. */
export class Tables {
  // The keys of Redis serve here too, so the same names are refused, and no name collides with another.
  readonly keys = keys();
  readonly invocations = new Map<string, StoredInvocation>();
  readonly leases = new LeaseTable();
  readonly recentRuns = new RecentRunTable();
  readonly #sessions = new Map<string, Map<string, StoredSession>>();
  readonly #apps = new Map<string, JsonMap>();
  readonly #users = new Map<string, JsonMap>();

  /** Returns the sessions of a user by key; an empty table for an unknown user. */
  sessionsOf({ appName, userId }: UserOwner): Map<string, StoredSession> {
    return this.#sessions.get(this.keys.sessions(appName, userId)) ?? new Map();
  }

  addSession(ref: SessionRef, stored: StoredSession): void {
    const key = this.keys.sessions(ref.appName, ref.userId);
    entry(this.#sessions, key, () => new Map()).set(this.keys.session(ref), stored);
  }

  findSession(ref: SessionRef): StoredSession | undefined {
    const key = this.keys.session(ref);
    return this.#sessions.get(this.keys.sessions(ref.appName, ref.userId))?.get(key);
  }

  findInvocation({ appName, userId, invocationId }: InvocationRef): StoredInvocation | undefined {
    return this.invocations.get(this.keys.invocation(appName, userId, invocationId));
  }

  /** Returns the invocation's record, and creates it when there is none. */
  invocation(ref: InvocationRef): StoredInvocation {
    const key = this.keys.invocation(ref.appName, ref.userId, ref.invocationId);
    const owner = this.keys.session(ref);
    return entry(this.invocations, key, () => newInvocation(owner));
  }

  /** Ends an invocation of a deleted session, and removes all but its ends, which are kept for a while. */
  keepEnds(key: string, invocation: StoredInvocation): void {
    this.invocations.delete(key);
    // Work that has never had or wanted the session leaves nothing.
    if (invocation.home === undefined) return;
    const kept = endsOnly(invocation);
    this.invocations.set(key, kept);
    const forget = () => {
      if (this.invocations.get(key) === kept) this.invocations.delete(key);
    };
    setTimeout(forget, keptEndsMs).unref();
  }

  /** Returns the `user:` state; its keys have no prefix. */
  userState({ appName, userId }: UserOwner): JsonMap {
    return entry(this.#users, this.keys.user(appName, userId), () => new Map());
  }

  deleteUserState({ appName, userId }: UserOwner): void {
    this.#users.delete(this.keys.user(appName, userId));
  }

  /** Writes each entry to its scope; entries of a scope without a map are dropped. */
  apply(ref: SessionRef, delta: JsonEntry[], maps: { session: JsonMap; temp?: JsonMap }): void {
    const app = entry(this.#apps, this.keys.app(ref.appName), () => new Map());
    const scopes = { ...maps, app, user: this.userState(ref) };
    for (const [key, json] of delta) {
      const scope = scopeOf(key);
      scopes[scope]?.set(key.slice(prefixes[scope].length), json);
    }
  }

  /** Returns the session for its agents, with these of its events. */
  view({ appName, userId }: UserOwner, stored: StoredSession, events: Event[]): Session {
    const state = {
      ...withPrefix('app:', this.#apps.get(this.keys.app(appName))),
      ...withPrefix('user:', this.#users.get(this.keys.user(appName, userId))),
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
