import type { Event } from '@agentmesh/protocol';
import type { BaseLlm } from '../base/base-llm.ts';
import { type BaseContextCompactor, isTruncating, type PromptHistory } from '../base/context-compactor.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { isOnBranch } from '../events/agent-path.ts';
import { getFunctionResponses } from '../events/event.ts';
import { type LogIndex, logIndex } from '../events/log-index.ts';
import { unreadBefore } from '../sessions/session.ts';

/** The parts of an agent that its prompts depend on. */
export interface PromptReader {
  readonly name: string;
  readonly includeContents: 'default' | 'none';
  /** The agent's own compactors; undefined when the agent uses the app's compactors. */
  readonly contextCompactors: readonly BaseContextCompactor[] | undefined;
  readonly llm: BaseLlm;
}

/** The part of a session's log that a prompt shows. */
export interface PromptView {
  /** The summary of all earlier events; absent when there is none. */
  summary?: string;
  events: readonly Event[];
}

/** Returns the compactors of an agent: the agent's own compactors, or else the app's. */
export function compactorsFor(
  { includeContents, contextCompactors }: PromptReader,
  { contextCompactors: ofApp = [] }: InvocationContext,
): readonly BaseContextCompactor[] {
  return includeContents === 'none' ? [] : (contextCompactors ?? ofApp);
}

/** Returns the events and the summary that the agent's model is shown now. */
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
  // The first events are shown only when the session was read from its start. Events behind a summary are not
  // the session's first events.
  const isWhole = start === 0 && unreadBefore(context.session) === 0;
  const leadingEvents = isWhole
    ? events.slice(0, Math.min(leading, from)).filter((_, at) => !index.isHidden(at))
    : [];
  const needed = neededBefore(from, context).filter((event) => !leadingEvents.includes(event));
  return {
    ...(summary !== undefined && { summary }),
    events: [...leadingEvents, ...needed, ...index.visible(from)],
  };
}

/** Returns the position from which on there are `count` visible events. */
function lastVisible(index: LogIndex, length: number, count: number): number {
  let [at, remaining] = [length, count];
  while (at > 0 && remaining > 0) {
    at -= 1;
    if (!index.isHidden(at)) remaining -= 1;
  }
  return at;
}

/**
 * Returns the earlier events that a prompt needs: the message that is answered, and the calls whose results
 * are shown.
 */
function neededBefore(from: number, { session, invocationId }: InvocationContext): Event[] {
  const index = logIndex(session.events);
  const message = index.ofInvocation(invocationId).find(({ author }) => author === 'user');
  const results = index.visible(from).flatMap(getFunctionResponses);
  const calls = results.flatMap(({ id }) => index.callsOf(id));
  const positions = [message, ...calls].flatMap((event) => (event && index.positionOf(event.id)) ?? []);
  return [...new Set(positions)]
    .filter((at) => at < from)
    .sort((a, b) => a - b)
    .flatMap((at) => session.events[at] ?? []);
}

/**
 * Returns the summary at the start of the agent's prompts, and the position of the first event that it does
 * not cover.
 */
function lastSummary(
  agent: PromptReader,
  context: InvocationContext,
): { summary?: string; start: number; madeAt: number } {
  const { session, branch } = context;
  const compactors = compactorsFor(agent, context);
  if (compactors.every(isTruncating)) return { start: 0, madeAt: -1 };
  const index = logIndex(session.events);
  const scope = scopeOf(agent);
  const compactionEvent = index.lastCompaction(
    (event) => event.branch === branch && event.actions.compaction?.agent === scope,
  );
  const compaction = compactionEvent?.actions.compaction;
  if (!compactionEvent || !compaction) return { start: 0, madeAt: -1 };
  return {
    summary: compaction.compactedContent,
    start: Math.max(compaction.throughSeq - unreadBefore(session), 0),
    madeAt: index.positionOf(compactionEvent.id) ?? -1,
  };
}

/**
 * Returns the scope of the summaries that an agent reads and writes: the agent's name, or undefined for
 * summaries of the app.
 */
export function scopeOf({ name, contextCompactors }: PromptReader): string | undefined {
  return contextCompactors ? name : undefined;
}

/** Returns the history that may be summarized, with the positions of its events. */
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
  const ownStart = events.findIndex((event) => event.invocationId === invocationId);
  const past = ownStart === -1 ? events.length : ownStart;
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

/** Rough number of letters in a token. */
const lettersPerToken = 4;

function guessedTokens(summary = '', events: readonly Event[]): number {
  const letters = events.reduce((sum, { content }) => sum + JSON.stringify(content?.parts ?? []).length, 0);
  return Math.ceil((summary.length + letters) / lettersPerToken);
}
