import { ofInvocation } from './log.ts';
import { type History, nameOf, type Violation } from './old-history.ts';

/**
 * Finds clients that missed or repeated events. A client that got the end must have seen each committed event
 * of its invocation once and in order; any other client, the first of them.
 */
export function sawAllOnce({ sessions, invocations }: History): Omit<Violation, 'rule'>[] {
  const logs = new Map(sessions.map((session) => [nameOf(session), session.events]));
  return invocations.flatMap((invocation) => {
    const { client, invocationId } = invocation;
    if (!client) return [];
    const session = nameOf(invocation);
    const log = ofInvocation(logs.get(session) ?? [], invocationId)
      .filter(({ event }) => event.author !== 'user')
      .map(({ event }) => event.id);
    const expected = client.finished ? log : log.slice(0, client.seen.length);
    const at = expected.findIndex((id, index) => client.seen[index] !== id);
    if (at === -1 && client.seen.length === expected.length) return [];
    const { reconnects, seen } = client;
    const place = at === -1 ? expected.length : at;
    const what = `its client (back ${reconnects} times) saw ${seen.length} events, and the log has ${log.length}; they differ at ${place + 1}: saw ${seen[place] ?? 'nothing'}, not ${expected[place] ?? 'nothing'}`;
    return [{ session, invocationId, what }];
  });
}
