import type { Event } from '@agentmesh/protocol';
import { turnChanges } from '../derive-pending.ts';
import type { TurnNeed } from '../session-log.ts';
import type { StoredInvocation } from './stored-invocation.ts';

interface Log {
  events: readonly string[];
  calls: Map<string, number>;
  summaries: Map<string, number>;
  authors: Map<string, number>;
}

/** The number of the first event that a turn needs. @param own that of its invocation, once it has one */
export function firstNeeded(
  { last, summaries, answers = [], authors = [], fromSeq }: TurnNeed,
  log: Log,
  own: number | undefined,
): number {
  const windows = [
    ...(last === undefined ? [] : [log.events.length - last + 1]),
    ...(summaries ?? []).map((agent) => (log.summaries.get(agent) ?? 0) + 1),
  ];
  const asked = answers.map((id) => log.calls.get(id));
  const spoken = Math.max(...authors.map((author) => log.authors.get(author) ?? 0), 0) || undefined;
  const firsts = [...(windows.length > 0 ? windows : [1]), own, fromSeq, spoken, ...asked];
  return Math.max(Math.min(...firsts.filter((first) => first !== undefined)), 1);
}

/** Notes what turns to come will need of a committed event, the last one of the log. */
export function noteTurn(log: Log, { firstSeqs }: StoredInvocation, session: string, event: Event): void {
  const { asks, answers, summary, isRewind } = turnChanges(event);
  const asked = answers.flatMap((id) => log.calls.get(id) ?? []);
  const first = Math.min(firstSeqs.get(session) ?? log.events.length, ...asked);
  firstSeqs.set(session, first);
  for (const id of asks) log.calls.set(id, first);
  log.authors.set(event.author ?? '', log.events.length);
  if (isRewind) log.summaries.clear();
  if (summary) log.summaries.set(summary.agent, summary.throughSeq);
}
