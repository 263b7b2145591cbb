import type { SessionService } from '@agentmesh/agent';
import type { Attempt } from '@agentmesh/agent/internal';
import { type Headers, header } from '@agentmesh/protocol';

/**
 * Sessions as one delivery of a run sees them: every commit bears its token, and is refused (`aborted`) once a later delivery has taken
 * over. An acknowledgement to the queue fences nobody off; this does. What answers an ask bears its attempt too: the same ask may have been sent
 * to another replica meanwhile.
 */
export function fencedSessions(
  sessions: SessionService,
  token: number | undefined,
  attempt?: Attempt,
): SessionService {
  if (token === undefined && !attempt) return sessions;
  return {
    createSession: (request) => sessions.createSession(request),
    getOrCreateSession: (request) => sessions.getOrCreateSession(request),
    getSession: (request) => sessions.getSession(request),
    readTurn: (ref, need, knownSeq) => sessions.readTurn(ref, need, knownSeq),
    initialState: (ref) => sessions.initialState(ref),
    appendHistory: (ref, history) => sessions.appendHistory(ref, history),
    listSessions: (request) => sessions.listSessions(request),
    deleteSession: (ref, options) => sessions.deleteSession(ref, options),
    pending: sessions.pending,
    users: sessions.users,
    readEvents: (request) => sessions.readEvents(request),
    getInvocation: (ref) => sessions.getInvocation(ref),
    takeSession: (ref, options) => sessions.takeSession(ref, options),
    renewSession: (ref, own, leaseMs) => sessions.renewSession(ref, own, leaseMs),
    giveBackSession: (ref, own) => sessions.giveBackSession(ref, own),
    nextRun: (ref) => sessions.nextRun(ref),
    promoteRun: (ref, leaseMs) => sessions.promoteRun(ref, leaseMs),
    waitingSessions: (limit) => sessions.waitingSessions(limit),
    cancelInvocation: (ref, reason) => sessions.cancelInvocation(ref, reason),
    beginAttempt: (ref, part) => sessions.beginAttempt(ref, part),
    appendEvent: (request) =>
      sessions.appendEvent({
        ...request,
        ...(token !== undefined && { token }),
        ...(attempt && { attempt }),
      }),
    countLlmCall: (ref) => sessions.countLlmCall(ref, token),
    endInvocation: (ref, end) => sessions.endInvocation(ref, end, token),
  };
}

/** The token of the delivery on whose behalf a message came, if it came for one. */
export function tokenOf(headers: Headers): number | undefined {
  const token = Number(headers[header.token]);
  return Number.isInteger(token) && token > 0 ? token : undefined;
}
