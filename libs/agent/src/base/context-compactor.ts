import { type Event, MeshError } from '@agentmesh/protocol';

/** The material of the next prompt. */
export interface PromptHistory {
  /** The events that this agent may see and that no summary covers yet, in order. */
  events: readonly Event[];
  /** Number of the events in `events` that precede the current invocation. */
  past: number;
  /** The summary of all earlier events. */
  summary: string | undefined;
  /**
   * Length of the prompt in tokens: as the model counted the last prompt, else estimated by the number of
   * letters.
   */
  tokens: number;
}

/**
 * Replaces old events with a summary in the prompts of an agent. The summary is a new event in the log; the
 * events that it covers stay in the log unchanged.
 */
export interface SummarizingCompactor {
  /** The writer of the summaries; default: the agent's model. */
  readonly summarizer?: BaseSummarizer | undefined;
  /** Returns how many of the first events a summary shall cover now; 0 for none. */
  toSummarize(history: PromptHistory): number;
}

/** Limits the prompt to the last events. Nothing is written, and earlier events are not even read. */
export interface TruncatingCompactor {
  /** Maximum number of events, not counting the events that the turn needs. */
  readonly threshold: number;
  /** Number of the session's first events that the prompt keeps. */
  readonly preserveLeadingEvents: number;
}

/** A strategy that keeps the prompts of a long conversation short; see ADK's context compactors. */
export type BaseContextCompactor = SummarizingCompactor | TruncatingCompactor;

/**
 * Checks that each compactor has `toSummarize` or a threshold.
 *
 * @throws MeshError `invalid_argument` for any other object. The compactors of ADK JS are refused too: they
 * change the session's events in place.
 */
export function assertCompactors(
  agent: string,
  compactors: readonly BaseContextCompactor[] | undefined,
): void {
  for (const compactor of compactors ?? []) {
    if (isTruncating(compactor) || typeof compactor.toSummarize === 'function') continue;
    throw new MeshError(
      'invalid_argument',
      `agent ${agent}: a context compactor needs toSummarize(history), or a threshold; ADK's shouldCompact and compact are not called (docs/sessions.md)`,
    );
  }
}

export function isTruncating(compactor: BaseContextCompactor): compactor is TruncatingCompactor {
  return 'threshold' in compactor;
}

/** A service that summarizes events. */
export interface BaseSummarizer {
  /**
   * @param events in order; the first event may be the summary of earlier events
   * @throws any error; the prompt is then built without a new summary
   */
  summarize(
    events: readonly Event[],
    options?: { signal?: AbortSignal | undefined },
  ): Promise<{ compactedContent: string }>;
}
