import type { SessionService } from '@agentmesh/agent';
import { type Attempt, overrideSessions } from '@agentmesh/agent/internal';
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
  return overrideSessions(sessions, {
    appendEvent: (request) =>
      sessions.appendEvent({
        ...request,
        ...(token !== undefined && { token }),
        ...(attempt && { attempt }),
      }),
    invocations: {
      countLlmCall: (ref) => sessions.invocations.countLlmCall(ref, token),
      end: (ref, end) => sessions.invocations.end(ref, end, token),
    },
  });
}

/** The token of the delivery on whose behalf a message came, if it came for one. */
export function tokenOf(headers: Headers): number | undefined {
  const token = Number(headers[header.token]);
  return Number.isInteger(token) && token > 0 ? token : undefined;
}
