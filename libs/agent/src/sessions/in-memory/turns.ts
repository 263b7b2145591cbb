import type { Event } from '@agentmesh/protocol';
import { turnChanges } from '../derive-pending.ts';
import type { TurnNeed } from '../session-log.ts';

interface Log {
  events: readonly Event[];
  firstSeqs: Map<string, number>;
  calls?: Map<string, number>;
  summaries?: Map<string, number>;
  authors: Map<string, number>;
}

/**
 * Returns the number of the first event that a turn needs.
 *
 * @param invocationFirst the number of the first event of the turn's invocation, if there is one
 */
export function firstNeeded(
  { last, summaries, answers = [], authors = [], fromSeq }: TurnNeed,
  log: Log,
  invocationFirst: number | undefined,
): number {
  const windows = [
    ...(last === undefined ? [] : [log.events.length - last + 1]),
    ...(summaries ?? []).map((agent) => (log.summaries?.get(agent) ?? 0) + 1),
  ];
  const callSeqs = answers.map((id) => log.calls?.get(id));
  const spoken = Math.max(...authors.map((author) => log.authors.get(author) ?? 0), 0) || undefined;
  const firsts = [...(windows.length > 0 ? windows : [1]), invocationFirst, fromSeq, spoken, ...callSeqs];
  return Math.max(Math.min(...firsts.filter((first) => first !== undefined)), 1);
}

/** Records the facts about the last committed event that later turns need. */
export function noteTurn(log: Log, event: Event): void {
  const { asks, answers, summary, isRewind } = turnChanges(event);
  const callSeqs = answers.flatMap((id) => log.calls?.get(id) ?? []);
  const first = Math.min(log.firstSeqs.get(event.invocationId) ?? log.events.length, ...callSeqs);
  log.firstSeqs.set(event.invocationId, first);
  for (const id of asks) {
    log.calls ??= new Map();
    log.calls.set(id, first);
  }
  log.authors.set(event.author ?? '', log.events.length);
  if (isRewind) delete log.summaries;
  if (summary) {
    log.summaries ??= new Map();
    log.summaries.set(summary.agent, summary.throughSeq);
  }
}
