import { shortId } from './short-id.ts';
import type { SessionRef } from './subjects.ts';
import { encodeName, encodeToken } from './token.ts';

/**
 * Makes all Redis keys of the mesh. `{app:user}` is the hash tag: all keys that one commit changes, except
 * keys of the `app:` scope, are in one slot of a Redis Cluster. Parts are encoded, so that no name can reach
 * another tenant's keys or choose a slot.
 */
export function keys(prefix = 'am') {
  const tag = (app: string, user: string) => `${prefix}:{${encodeToken(app)}:${encodeToken(user)}}`;
  const session = (ref: SessionRef) =>
    `${tag(ref.appName, ref.userId)}:session:${encodeToken(ref.sessionId)}`;
  // In the user's slot, and with a beginning of their own: fewer services may use secrets than sessions.
  const secret = (app: string, user: string) => `${prefix}:secret:{${encodeToken(app)}:${encodeToken(user)}}`;
  const signIns = (ref: SessionRef) =>
    `${secret(ref.appName, ref.userId)}:sign-in:${encodeToken(ref.sessionId)}:`;
  return {
    /**
     * Hash: created, updated, seq, the id of its last entry in {@link appOutbox}, and the invocation that
     * holds the session with the end of its lease.
     */
    session,
    /** Stream: the event log; entry `0-<seq>`. */
    events: (ref: SessionRef) => `${session(ref)}:events`,
    /** Hash: session-scope state, a field per key, JSON values. */
    state: (ref: SessionRef) => `${session(ref)}:state`,
    /** Sorted set: invocations that wait for the session, in order. */
    waiting: (ref: SessionRef) => `${session(ref)}:waiting`,
    /** Hash: the messages to publish at the turns of the waiting invocations. */
    waitingRuns: (ref: SessionRef) => `${session(ref)}:waiting-runs`,
    /**
     * Sorted set: the sessions of an app that a run has, or for which a run waits, by the time of their last
     * check, in ms; in the slot of {@link app}.
     */
    busySessions: (app: string) => `${prefix}:{${encodeToken(app)}}:busy-sessions`,
    /** Sorted set: the sessions of the user in which a run is at work, by the ends of their leases, in ms. */
    running: (app: string, user: string) => `${tag(app, user)}:running`,
    /** Sorted set: the sessions of the user that no run has and for which a run waits, by the place of this run. */
    ready: (app: string, user: string) => `${tag(app, user)}:ready`,
    /** Sorted set: the waiting runs in all sessions of the user, by the times at which they are forgotten, in ms. */
    queued: (app: string, user: string) => `${tag(app, user)}:queued`,
    /**
     * Sorted set: the users of an app whose runs wait for a share, by the time of their last check, in ms; in the
     * slot of {@link app}.
     */
    busyUsers: (app: string) => `${prefix}:{${encodeToken(app)}}:busy-users`,
    /** Sorted set: the newest runs of an app, by their times in ms; in the slot of {@link app}; expires. */
    recentRuns: (app: string) => `${prefix}:{${encodeToken(app)}}:recent-runs`,
    /** Hash: the user, the session and the agent of each of these runs; expires. */
    recentPlaces: (app: string) => `${prefix}:{${encodeToken(app)}}:recent-places`,
    /**
     * Sorted set: the users of an app who may have pending calls, by the times of the newest, in ms; in the slot of
     * {@link app}.
     */
    waitingUsers: (app: string) => `${prefix}:{${encodeToken(app)}}:waiting-users`,
    /** Hash: `user:` state. */
    user: (app: string, user: string) => `${tag(app, user)}:user`,
    /** Hash: `app:` state, in a slot of its own. */
    app: (app: string) => `${prefix}:{${encodeToken(app)}}:app`,
    /** Stream: `app:` deltas that are committed and not yet applied to {@link app}. */
    appOutbox: (app: string, user: string) => `${tag(app, user)}:app-outbox`,
    /** Hash: the pending calls of all sessions of the user, by session and call id. */
    pending: (app: string, user: string) => `${tag(app, user)}:pending`,
    /** Hash: the answered calls of a session with their answers, and the progress of the pending calls. */
    answered: (ref: SessionRef) => `${session(ref)}:answered`,
    /** Set: the sessions in which a call with this id is or was pending; in a slot of its own; expires. */
    asking: (callId: string) => `${prefix}:asking:${encodeToken(callId)}`,
    /** Sorted set: the pending calls of a service by their deadlines, in epoch ms; in a slot of its own. */
    deadlines: (service: string) => `${prefix}:deadlines:${encodeName(service)}`,
    /** Hash: the job of a call of a long-running tool: its holder, its status, its result; expires. */
    job: (tool: string, job: string) => `${prefix}:job:{${encodeName(tool)}:${encodeToken(job)}}`,
    /** Stream: the progress of a job; entry `0-<n>`; in the slot of {@link job}. */
    jobProgress: (tool: string, job: string) =>
      `${prefix}:job:{${encodeName(tool)}:${encodeToken(job)}}:progress`,
    /**
     * Sorted set: the child sessions, in which agents that are used as tools work, in the form of {@link
     * sessions}.
     */
    hiddenSessions: (app: string, user: string) => `${tag(app, user)}:hidden-sessions`,
    /**
     * Sorted set: the expiring data of the user that no other key leads to, by its end in ms. An entry is
     * `key <key>` for a key in the user's slot, or `call <json>` for an entry of {@link asking} and {@link
     * deadlines}; expires.
     */
    index: (app: string, user: string) => `${tag(app, user)}:index`,
    /** Sorted set: the session ids by last update, in ms. */
    sessions: (app: string, user: string) => `${tag(app, user)}:sessions`,
    /** Sorted set: the session ids by their end, in ms, when sessions have a limited life. */
    sessionEnds: (app: string, user: string) => `${tag(app, user)}:session-ends`,
    /**
     * Hash: one invocation's status, `temp:` state, counters, and the sequence number of each of its event
     * ids, by which a repeated commit is recognised; expires.
     */
    invocation: (app: string, user: string, invocationId: string) =>
      `${tag(app, user)}:invocation:${encodeToken(invocationId)}`,
    /** String: a credential of the user, sealed; expires when its token does and cannot be refreshed. */
    credential: (app: string, user: string, credentialKey: string) =>
      `${secret(app, user)}:credential:${shortId(credentialKey)}`,
    /**
     * String: the data key of the user, under which keepers seal the user's secrets, encrypted with the master key.
     */
    dataKey: (app: string, user: string) => `${secret(app, user)}:data-key`,
    /** String: the private key of the keepers, for secrets on the way to them, encrypted with the master key. */
    keeperKey: `${prefix}:keeper:key`,
    /**
     * Hash: the purposes of the user's credentials as JSON, by the last part of their keys; nothing secret.
     */
    credentials: (app: string, user: string) => `${secret(app, user)}:credentials`,
    /** String: the process that renews the credential now; expires. */
    credentialTurn: (app: string, user: string, credentialKey: string) =>
      `${secret(app, user)}:credential-turn:${shortId(credentialKey)}`,
    /** Hash: a requested sign-in, sealed, with its status and the sealed answer; expires. */
    signIn: (ref: SessionRef, questionId: string) => `${signIns(ref)}${shortId(questionId)}`,
    /** The beginning of {@link signIn} for all sign-ins of a session. */
    signIns,
    /** The keys of a user's memories; see {@link MemoryKeys}. */
    memory: (app: string, user: string) => memoryKeys(`${tag(app, user)}:memory`),
    /**
     * The API keys of the gateways. No braces: patterns of the sessions of all apps must not fit these keys.
     */
    apiKeys: {
      /** Hash: the records of the keys as JSON, by the hashes of the keys. */
      records: `${prefix}:api-key:records`,
      /** Hash: the hashes of the keys, by name. */
      names: `${prefix}:api-key:names`,
      /** Hash: the times of the last uses in ms, by the hashes of the keys. */
      uses: `${prefix}:api-key:uses`,
    },
    /**
     * String: the public key with which a gateway signs the identities of callers and the sources of answers, as a
     * JWK; expires.
     */
    callerKey: (keyId: string) => `${prefix}:caller-key:${encodeToken(keyId)}`,
    /**
     * String: the public key with which an agent of an app signs the sources of answers, as a JWK; in the slot of
     * {@link app}; expires.
     */
    answerKey: (app: string, keyId: string) =>
      `${prefix}:{${encodeToken(app)}}:answer-key:${encodeToken(keyId)}`,
    /** Hash or sorted set: the uses or the slots of a caller of the gateways; expires. */
    limit: (kind: string, who: string) => `${prefix}:limit:${encodeToken(kind)}:${shortId(who)}`,
    /**
     * The runs and tokens that gateways count. All keys are in one slot, so that a run is admitted at its caller, its user and its app in one
     * step.
     */
    runQuotas: {
      /** Hash: the runs whose tokens are not all counted, by invocation. */
      open: `${prefix}:limit:{runs}:open`,
      /** String: there while a gateway looks after the open runs; expires. */
      turn: `${prefix}:limit:{runs}:turn`,
      /** Hash: the runs and tokens of a caller, a user or an app; expires. */
      counter: (scope: string, name: string) => `${prefix}:limit:{runs}:${scope}:${shortId(name)}`,
    },
    /** String: the run of a request of a client that may send the request again, as JSON; expires. */
    repeatedRequest: (name: string) => `${prefix}:limit:request:${shortId(name)}`,
    /** A key for data of a service's own, which no other service may use. */
    own: (service: string, name: string) => `${prefix}:own:${encodeName(service)}:${encodeToken(name)}`,
    /** Hash: the result of a remote tool's call, for repetitions of it; expires. */
    call: (tool: string, callId: string) => `${prefix}:call:${encodeName(tool)}:${encodeToken(callId)}`,
  };
}

function memoryKeys(user: string) {
  return {
    /**
     * Hash: the number of the last memory, the name of the vectors, and for each session the last event in
     * memory.
     */
    meta: user,
    /** Hash: the memories by number, each with the time of its addition in ms and its JSON. */
    entries: `${user}:entries`,
    /** Hash: the terms of each memory by number, needed for its removal. */
    terms: `${user}:terms`,
    /** Sorted set: the numbers of the memories, in order. */
    order: `${user}:order`,
    /** Sorted set: the numbers of the memories of a session, or of no session, by event id. */
    session: (sessionId?: string) =>
      sessionId === undefined ? `${user}:others` : `${user}:session:${encodeToken(sessionId)}`,
    /** Sorted set: the numbers of the memories with a term, by the term's weight in them. */
    posting: (term: string) => `${user}:term:${term}`,
    /** Hash: the vectors by number, a byte for each dimension. */
    vectors: `${user}:vectors`,
    /** Set: the numbers of memories without a vector. */
    unembedded: `${user}:unembedded`,
  };
}

export type MemoryKeys = ReturnType<typeof memoryKeys>;
export type Keys = ReturnType<typeof keys>;
