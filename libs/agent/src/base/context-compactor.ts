import { type Event, MeshError } from '@agentmesh/protocol';

/** What a prompt would be made of now. */
export interface PromptHistory {
  /** All that no summary stands for yet, in order: what this agent may see. */
  events: readonly Event[];
  /** Of these, how many belong to what came before the invocation that runs. */
  past: number;
  /** What stands for all before them. */
  summary: string | undefined;
  /** How long the prompt is, in tokens: as the model counted the last one, or else a guess by its letters. */
  tokens: number;
}

/**
 * Has a summary take the place of old events in the prompts of an agent. The summary is an event of its own in the log; the events that it stands for
 * stay there as they are.
 */
export interface SummarizingCompactor {
  /** Writes the summaries; default the agent's model. */
  readonly summarizer?: BaseSummarizer | undefined;
  /** How many of the events, from the first on, a summary shall stand for now; 0 for none. */
  toSummarize(history: PromptHistory): number;
}

/** Shows a model the last events alone. Nothing is written, and what lies before them is not even read. */
export interface TruncatingCompactor {
  /** So many events at most, and those that the turn cannot do without. */
  readonly threshold: number;
  /** And so many of the first ones of the session. */
  readonly preserveLeadingEvents: number;
}

/** Keeps the prompts of a long conversation short; see ADK's context compactors. */
export type BaseContextCompactor = SummarizingCompactor | TruncatingCompactor;

/** @throws MeshError `invalid_argument` for what is none: those of ADK JS change the session's events in place, and are written otherwise here */
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

/** Puts what was said and done into few words. */
export interface BaseSummarizer {
  /**
   * @param events in order; the first one may be the summary of what was before
   * @throws what keeps it from doing so: the prompt is then built without a new summary
   */
  summarize(
    events: readonly Event[],
    options?: { signal?: AbortSignal | undefined },
  ): Promise<{ compactedContent: string }>;
}
