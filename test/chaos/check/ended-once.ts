import type { StoredEvent } from '@agentmesh/agent/internal';
import { isEnd, ofInvocation } from './log.ts';
import { type History, type InvocationHistory, nameOf, type Violation } from './old-history.ts';

type Found = Omit<Violation, 'rule'>;

/**
 * Finds invocations that did not end exactly once. Every invocation that was acknowledged or is in a log must
 * have ended. On each of its branches, in its own session and in those of its calls, there must be one last
 * answer and no event after it.
 */
export function endedOnce({ sessions, invocations }: History): Found[] {
  const found = invocations.flatMap((invocation) => {
    const session = sessions.find((each) => nameOf(each) === nameOf(invocation));
    return endOf(invocation, session?.events ?? []);
  });
  const ofCalls = sessions.filter(({ callId }) => callId !== undefined);
  return [
    ...found,
    ...ofCalls.flatMap((session) =>
      lastWords(session.events, {
        session: nameOf(session),
        invocationId: session.events[0]?.event.invocationId ?? '',
      }),
    ),
  ];
}

function endOf(invocation: InvocationHistory, events: readonly StoredEvent[]): Found[] {
  const { invocationId, status, acknowledged } = invocation;
  const where = { session: nameOf(invocation), invocationId };
  const own = ofInvocation(events, invocationId);
  if (own.length === 0) {
    return acknowledged ? [{ ...where, what: 'it was acknowledged and nothing of it is in the log' }] : [];
  }
  if (status === 'running') return [{ ...where, what: 'it has not ended' }];
  if (!own.some(({ event }) => isEnd(event))) return [{ ...where, what: 'it ended without a last word' }];
  return lastWords(own, where);
}

function lastWords(
  events: readonly StoredEvent[],
  where: Required<Pick<Found, 'session' | 'invocationId'>>,
): Found[] {
  const branches = Map.groupBy(events, ({ event }) => event.branch ?? '');
  return [...branches].flatMap(([branch, said]) => {
    const ends = said.filter(({ event }) => isEnd(event));
    const on = branch === '' ? '' : ` on branch ${branch}`;
    if (ends.length > 1) {
      return [
        {
          ...where,
          what: `it ended ${ends.length} times${on}: events ${ends.map(({ seq }) => seq).join(', ')}`,
        },
      ];
    }
    const after = said.at(-1);
    if (ends.length === 0 || after === ends[0]) return [];
    return [{ ...where, what: `event ${after?.seq} comes after the last word, ${ends[0]?.seq}${on}` }];
  });
}
