import { shortId } from './short-id.ts';
import type { SessionRef } from './subjects.ts';
import { encodeName, encodeToken } from './token.ts';

/**
 * Every Redis key of the mesh. `{app:user}` is the hash tag: all that one commit changes, but the `app:` scope, lies in
 * one slot of a Redis Cluster. Parts are encoded, so that no name can reach another tenant's keys or choose a slot.
 */
export function keys(prefix = 'am') {
  const tag = (app: string, user: string) => `${prefix}:{${encodeToken(app)}:${encodeToken(user)}}`;
  const session = (ref: SessionRef) =>
    `${tag(ref.appName, ref.userId)}:session:${encodeToken(ref.sessionId)}`;
  return {
    /** Hash: created, updated, seq, the id of its last entry in {@link appOutbox}, and the invocation that has the session, until when. */
    session,
    /** Stream: the event log; entry `0-<seq>`. */
    events: (ref: SessionRef) => `${session(ref)}:events`,
    /** Hash: session-scope state, a field per key, JSON values. */
    state: (ref: SessionRef) => `${session(ref)}:state`,
    /** Sorted set: invocations that wait for the session, in order. */
    waiting: (ref: SessionRef) => `${session(ref)}:waiting`,
    /** Hash: what to publish when it is their turn. */
    waitingRuns: (ref: SessionRef) => `${session(ref)}:waiting-runs`,
    /** Sorted set of all sessions in which runs wait, by when they were looked at, in ms; in a slot of its own. */
    waitingSessions: `${prefix}:waiting-sessions`,
    /** Hash: `user:` state. */
    user: (app: string, user: string) => `${tag(app, user)}:user`,
    /** Hash: `app:` state, in a slot of its own. */
    app: (app: string) => `${prefix}:{${encodeToken(app)}}:app`,
    /** Stream: `app:` deltas that are committed and not yet applied to {@link app}. */
    appOutbox: (app: string, user: string) => `${tag(app, user)}:app-outbox`,
    /** Hash: what waits for an answer in all sessions of the user, by session and call id. */
    pending: (app: string, user: string) => `${tag(app, user)}:pending`,
    /** Hash: which calls of a session were answered, with what, and how far the work of those that wait is. */
    answered: (ref: SessionRef) => `${session(ref)}:answered`,
    /** Set: the sessions in which a call of this id waits, or did; in a slot of its own; expires. */
    asking: (callId: string) => `${prefix}:asking:${encodeToken(callId)}`,
    /** Sorted set: calls that a service made and whose answer is waited for until then, epoch ms; in a slot of its own. */
    deadlines: (service: string) => `${prefix}:deadlines:${encodeName(service)}`,
    /** Hash: the work of a call of a long-running tool: who does it, how far it is, its result; expires. */
    job: (tool: string, job: string) => `${prefix}:{job:${encodeName(tool)}:${encodeToken(job)}}`,
    /** Stream: what the work of a call has said on its way; entry `0-<n>`; in the slot of {@link job}. */
    jobProgress: (tool: string, job: string) =>
      `${prefix}:{job:${encodeName(tool)}:${encodeToken(job)}}:progress`,
    /** Sorted set: as {@link sessions}, of the hidden ones: those of agents used as tools. */
    hiddenSessions: (app: string, user: string) => `${tag(app, user)}:hidden-sessions`,
    /**
     * Sorted set: what is kept of the user for a time, and could not be found otherwise, by when it ends, ms: `key <key>` in the user's slot, and
     * `call <json>` for an entry of {@link asking} and {@link deadlines}; expires.
     */
    index: (app: string, user: string) => `${tag(app, user)}:index`,
    /** Sorted set: session ids by last update, in ms. */
    sessions: (app: string, user: string) => `${tag(app, user)}:sessions`,
    /** Sorted set: session ids by when they end, in ms, where sessions are not kept for ever. */
    sessionEnds: (app: string, user: string) => `${tag(app, user)}:session-ends`,
    /**
     * Hash: one invocation's status, `temp:` state, counters, and the seq of each of its event ids, which makes a repeated
     * commit a no-op; expires.
     */
    invocation: (app: string, user: string, invocationId: string) =>
      `${tag(app, user)}:invocation:${encodeToken(invocationId)}`,
    /** String: a credential of the user, sealed; expires with a token that nothing refreshes. */
    credential: (app: string, user: string, credentialKey: string) =>
      `${tag(app, user)}:credential:${shortId(credentialKey)}`,
    /** Hash: what the credentials of the user are for, by the last part of their keys, as JSON; nothing secret. */
    credentials: (app: string, user: string) => `${tag(app, user)}:credentials`,
    /** String: who renews that credential now; expires. */
    credentialTurn: (app: string, user: string, credentialKey: string) =>
      `${tag(app, user)}:credential-turn:${shortId(credentialKey)}`,
    /** Hash: a sign-in that a person was asked for, sealed, how far it is, and the sealed answer; expires. */
    signIn: (ref: SessionRef, questionId: string) => `${session(ref)}:sign-in:${shortId(questionId)}`,
    /** What is remembered of a user; see {@link MemoryKeys}. */
    memory: (app: string, user: string) => memoryKeys(`${tag(app, user)}:memory`),
    /** Hash: a remote tool's result by call id, for repeats; expires. */
    call: (tool: string, callId: string) => `${prefix}:call:${encodeName(tool)}:${encodeToken(callId)}`,
  };
}

function memoryKeys(user: string) {
  return {
    /** Hash: the number of the last memory, the name of the vectors, and how far each session is in memory. */
    meta: user,
    /** Hash: the memories by number, each its time of adding in ms and its JSON. */
    entries: `${user}:entries`,
    /** Hash: by number, the terms of each memory, to remove them by. */
    terms: `${user}:terms`,
    /** Sorted set: the numbers in order. */
    order: `${user}:order`,
    /** Sorted set: of a session, or of none, the numbers by event id. */
    session: (sessionId?: string) =>
      sessionId === undefined ? `${user}:others` : `${user}:session:${encodeToken(sessionId)}`,
    /** Sorted set: the numbers of the memories that have a term, by what it is worth in them. */
    posting: (term: string) => `${user}:term:${term}`,
    /** Hash: vectors by number, a byte for each dimension. */
    vectors: `${user}:vectors`,
    /** Set: numbers of memories that have no vector yet. */
    unembedded: `${user}:unembedded`,
  };
}

export type MemoryKeys = ReturnType<typeof memoryKeys>;
export type Keys = ReturnType<typeof keys>;
