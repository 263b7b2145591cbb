import type { Content } from '@google/genai';
import type { BaseAgent } from '../base/base-agent.ts';
import { type BaseContextCompactor, isTruncating } from '../base/context-compactor.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import type { TurnNeed } from '../sessions/session-log.ts';
import { LoopAgent } from '../workflow/loop-agent.ts';
import { RoutedAgent } from '../workflow/routed-agent.ts';
import { SequentialAgent } from '../workflow/sequential-agent.ts';

/** At least so many events, for code that looks at them. */
const leastEvents = 50;

/**
 * What of a session's log a turn of an agent, and of all below it in this process, needs. Of conversations that are kept short it is what prompts
 * show; where an agent's prompts hold all of the past, or it runs code of its own that may look at it, it is all.
 *
 * @param ofApp keep the prompts of agents short that have no compactors of their own
 */
export function turnNeed(
  root: BaseAgent,
  { ofApp = [], message }: { ofApp?: readonly BaseContextCompactor[]; message?: Content | undefined } = {},
): TurnNeed {
  const windows = [...root.tree()].filter(({ isRemote }) => !isRemote).map((agent) => windowOf(agent, ofApp));
  const known = windows.filter((window) => window !== undefined);
  if (known.length < windows.length) return {};
  return {
    last: Math.max(leastEvents, ...known.map(({ last }) => last)),
    summaries: [...new Set(known.flatMap(({ summary }) => summary ?? []))],
    authors: [...root.tree()].filter(({ isRemote }) => !isRemote).map(({ name }) => name),
    answers: (message?.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.id ?? []),
  };
}

interface Window {
  last: number;
  /** The agent whose summary its prompts begin with; '' for that of the app. */
  summary?: string;
}

/** What the prompts of one agent show; undefined for all. */
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
  // What is cut off is never shown, also when it would have been summarized first.
  if (truncating.length > 0) return { last: Math.min(...truncating.map(({ threshold }) => threshold)) };
  return compactors.length > 0 ? { last: 0, summary } : undefined;
}
