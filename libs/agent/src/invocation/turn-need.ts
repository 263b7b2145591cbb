import type { Content } from '@google/genai';
import type { BaseAgent } from '../base/base-agent.ts';
import { type BaseContextCompactor, isTruncating } from '../base/context-compactor.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import type { TurnNeed } from '../sessions/session-log.ts';
import { LoopAgent } from '../workflow/loop-agent.ts';
import { RoutedAgent } from '../workflow/routed-agent.ts';
import { SequentialAgent } from '../workflow/sequential-agent.ts';

/** Minimum number of events, for user code that looks at them. */
const leastEvents = 50;

/**
 * Computes the part of a session's log that a turn needs, for an agent and all below it in this process. For
 * conversations with short prompts this is the part that prompts show. It is the whole log when an agent's
 * prompts show the whole past, or when the agent runs user code that may read the past.
 *
 * @param ofApp the compactors for agents that have none of their own
 */
export function turnNeed(
  root: BaseAgent,
  { ofApp = [], message }: { ofApp?: readonly BaseContextCompactor[]; message?: Content | undefined } = {},
): TurnNeed {
  const windows: Window[] = [];
  const authors: string[] = [];
  for (const agent of root.tree()) {
    if (agent.isRemote) continue;
    const window = windowOf(agent, ofApp);
    if (!window) return {};
    windows.push(window);
    authors.push(agent.name);
  }
  return {
    last: Math.max(leastEvents, ...windows.map(({ last }) => last)),
    summaries: [...new Set(windows.flatMap(({ summary }) => summary ?? []))],
    authors,
    answers: (message?.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.id ?? []),
  };
}

interface Window {
  last: number;
  /** The agent whose summary begins the prompts; '' for the summary of the app. */
  summary?: string;
}

/** Returns the part of the log that the prompts of one agent show; undefined for all. */
function windowOf(agent: BaseAgent, ofApp: readonly BaseContextCompactor[]): Window | undefined {
  if (!(agent instanceof LlmAgent)) {
    const onlyRunsOthers = [SequentialAgent, LoopAgent, RoutedAgent].some(
      (kind) => agent.constructor === kind,
    );
    return onlyRunsOthers ? { last: 0 } : undefined;
  }
  const compactors = agent.contextCompactors ?? ofApp;
  const truncating = compactors.filter(isTruncating);
  if (truncating.some(({ preserveLeadingEvents }) => preserveLeadingEvents > 0)) return undefined;
  const summary = agent.contextCompactors ? agent.name : '';
  // Truncated events are never shown, even if they would have been summarized first.
  if (truncating.length > 0) return { last: Math.min(...truncating.map(({ threshold }) => threshold)) };
  return compactors.length > 0 ? { last: 0, summary } : undefined;
}
