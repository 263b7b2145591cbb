import type { Event } from '@agentmesh/protocol';
import type { BaseLlm } from '../base/base-llm.ts';
import { type BaseContextCompactor, isTruncating, type PromptHistory } from '../base/context-compactor.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { isOnBranch } from '../events/agent-path.ts';
import { getFunctionResponses } from '../events/event.ts';
import { type LogIndex, logIndex } from '../events/log-index.ts';
import { unreadBefore } from '../sessions/session.ts';

/** An agent as far as its prompts are concerned. */
export interface PromptReader {
  readonly name: string;
  readonly includeContents: 'default' | 'none';
  /** Its own; undefined for those of the app. */
  readonly contextCompactors: readonly BaseContextCompactor[] | undefined;
  readonly llm: BaseLlm;
}

/** What of a session's log a prompt is made of. */
export interface PromptView {
  /** Stands for what was before; absent where nothing was summarized. */
  summary?: string;
  events: readonly Event[];
}

/** What keeps the prompts of an agent short: what it was given itself, or else the app. */
export function compactorsFor(
  { includeContents, contextCompactors }: PromptReader,
  { contextCompactors: ofApp = [] }: InvocationContext,
): readonly BaseContextCompactor[] {
  return includeContents === 'none' ? [] : (contextCompactors ?? ofApp);
}

/** What the agent's model is shown now. */
export function promptView(agent: PromptReader, context: InvocationContext): PromptView {
  const { events } = context.session;
  const { summary, start } = lastSummary(agent, context);
  const truncating = compactorsFor(agent, context).filter(isTruncating);
  const index = logIndex(events);
  let from = start;
  let leading = 0;
  for (const { threshold, preserveLeadingEvents } of truncating) {
    const first = lastVisible(index, events.length, threshold);
    const isLong = first > start;
    from = Math.max(from, first);
    leading = isLong ? Math.max(leading, preserveLeadingEvents) : leading;
  }
  if (from === 0) return { events: index.visible() };
  // A session that was not read from its start has no first events; those behind a summary are not its first ones.
  const isWhole = start === 0 && unreadBefore(context.session) === 0;
  const kept = isWhole ? events.slice(0, Math.min(leading, from)).filter((_, at) => !index.isHidden(at)) : [];
  const needed = neededBefore(from, context).filter((event) => !kept.includes(event));
  return {
    ...(summary !== undefined && { summary }),
    events: [...kept, ...needed, ...index.visible(from)],
  };
}

/** The position of the first of the last so many events that count. */
function lastVisible(index: LogIndex, length: number, count: number): number {
  let [at, left] = [length, count];
  while (at > 0 && left > 0) {
    at -= 1;
    if (!index.isHidden(at)) left -= 1;
  }
  return at;
}

/** What a prompt cannot do without: the message that is answered, and the calls whose results are shown. */
function neededBefore(from: number, { session, invocationId }: InvocationContext): Event[] {
  const index = logIndex(session.events);
  const said = index.ofInvocation(invocationId).find(({ author }) => author === 'user');
  const results = index.visible(from).flatMap(getFunctionResponses);
  const calls = results.flatMap(({ id }) => index.callsOf(id));
  const positions = [said, ...calls].flatMap((event) => (event && index.positionOf(event.id)) ?? []);
  return [...new Set(positions)]
    .filter((at) => at < from)
    .sort((a, b) => a - b)
    .flatMap((at) => session.events[at] ?? []);
}

/** The summary that the agent's prompts begin with, and the position of the first event that it does not stand for. */
function lastSummary(
  agent: PromptReader,
  context: InvocationContext,
): { summary?: string; start: number; madeAt: number } {
  const { session, branch } = context;
  const compactors = compactorsFor(agent, context);
  if (compactors.every(isTruncating)) return { start: 0, madeAt: -1 };
  const index = logIndex(session.events);
  const scope = scopeOf(agent);
  const made = index.lastCompaction(
    (event) => event.branch === branch && event.actions.compaction?.agent === scope,
  );
  const compaction = made?.actions.compaction;
  if (!made || !compaction) return { start: 0, madeAt: -1 };
  return {
    summary: compaction.compactedContent,
    start: Math.max(compaction.throughSeq - unreadBefore(session), 0),
    madeAt: index.positionOf(made.id) ?? -1,
  };
}

/** Whose summaries an agent reads and writes: its own, or, as undefined, those of the app. */
export function scopeOf({ name, contextCompactors }: PromptReader): string | undefined {
  return contextCompactors ? name : undefined;
}

/** What may be summarized, and the positions of the events. */
export function promptHistory(
  agent: PromptReader,
  context: InvocationContext,
): PromptHistory & { positions: number[] } {
  const { session, branch, invocationId } = context;
  const { summary, start, madeAt } = lastSummary(agent, context);
  const index = logIndex(session.events);
  const positions: number[] = [];
  for (let at = start; at < session.events.length; at += 1) {
    const event = session.events[at];
    if (event && !event.actions.compaction && !index.isHidden(at) && isOnBranch(event.branch, branch))
      positions.push(at);
  }
  const events = positions.flatMap((at) => session.events[at] ?? []);
  const own = events.findIndex((event) => event.invocationId === invocationId);
  const past = own === -1 ? events.length : own;
  const since = events.filter((_, n) => (positions[n] ?? 0) > madeAt);
  return {
    events,
    past,
    summary,
    tokens: countedTokens(agent, since) ?? guessedTokens(summary, events),
    positions,
  };
}

function countedTokens({ name }: PromptReader, events: readonly Event[]): number | undefined {
  const last = events.findLast(
    ({ author, usageMetadata }) => author === name && usageMetadata?.promptTokenCount,
  );
  return last?.usageMetadata?.promptTokenCount;
}

/** Letters of a token, as a rule of thumb. */
const lettersPerToken = 4;

function guessedTokens(summary = '', events: readonly Event[]): number {
  const letters = events.reduce((sum, { content }) => sum + JSON.stringify(content?.parts ?? []).length, 0);
  return Math.ceil((summary.length + letters) / lettersPerToken);
}
