import type { SessionService } from '@agentmesh/agent';
import { type Attempt, type CallCount, overrideSessions } from '@agentmesh/agent/internal';
import { type Headers, header } from '@agentmesh/protocol';
import { countCalls } from './count-calls.ts';

/** The part of a fence that only some deliveries have. */
interface Fence {
  /** The attempt of an ask. */
  attempt?: Attempt | undefined;
  /** The model calls that the store does not know, and the limit of the invocation: see {@link countCalls}. */
  calls?: CallCount | undefined;
  maxLlmCalls?: number;
}

/**
 * Wraps the sessions for one delivery of a run: every commit carries the delivery's fencing token and is
 * refused (`aborted`) after a later delivery has taken over. An acknowledgement to the queue does not fence
 * off another replica; the token does. The commits of an ask carry the ask's attempt too, because the same
 * ask may have been sent to another replica meanwhile.
 */
export function fencedSessions(
  sessions: SessionService,
  token: number | undefined,
  { attempt, calls, maxLlmCalls: most = 0 }: Fence = {},
): SessionService {
  if (token === undefined && !attempt) return sessions;
  const { invocations } = sessions;
  return overrideSessions(sessions, {
    appendEvent: (request) =>
      sessions.appendEvent({
        ...request,
        ...(token !== undefined && { token }),
        ...(attempt && { attempt }),
        ...(calls && { calls }),
      }),
    invocations: {
      countLlmCall: calls
        ? countCalls(invocations, calls, { token, most })
        : (ref) => invocations.countLlmCall(ref, token),
      end: (ref, end) => invocations.end(ref, end, token),
    },
  });
}

/** Returns the fencing token of the delivery for which a message was sent; undefined if there is none. */
export function tokenOf(headers: Headers): number | undefined {
  const token = Number(headers[header.token]);
  return Number.isInteger(token) && token > 0 ? token : undefined;
}
