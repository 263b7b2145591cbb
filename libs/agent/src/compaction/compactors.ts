import { MeshError } from '@agentmesh/protocol';
import type { PromptHistory, SummarizingCompactor, TruncatingCompactor } from './context-compactor.ts';
import type { BaseSummarizer } from './summarizer.ts';

export interface TokenBasedContextCompactorOptions {
  /** From so many tokens of the prompt on a summary is made. */
  tokenThreshold: number;
  /** So many of the last events are never summarized. */
  eventRetentionSize: number;
  /** Default: the agent's model. */
  summarizer?: BaseSummarizer;
}

/** Summarizes all but the last events when the prompt gets longer than so many tokens. */
export class TokenBasedContextCompactor implements SummarizingCompactor {
  readonly summarizer: BaseSummarizer | undefined;
  readonly #threshold: number;
  readonly #retention: number;

  /** @throws MeshError `invalid_argument` for figures that are none */
  constructor({ tokenThreshold, eventRetentionSize, summarizer }: TokenBasedContextCompactorOptions) {
    this.#threshold = wholeNumber('tokenThreshold', tokenThreshold, 1);
    this.#retention = wholeNumber('eventRetentionSize', eventRetentionSize, 0);
    this.summarizer = summarizer;
  }

  toSummarize({ events, tokens }: PromptHistory): number {
    return tokens > this.#threshold ? Math.max(events.length - this.#retention, 0) : 0;
  }
}

export interface SlidingWindowContextCompactorOptions {
  /** After so many invocations a summary is made of them. */
  compactionInterval: number;
  /** So many of the newest invocations stay in the prompt as they are, and go into the next summary; default 0. */
  overlapSize?: number;
  /** Default: the agent's model. */
  summarizer?: BaseSummarizer;
}

/** Summarizes every so many invocations. */
export class SlidingWindowContextCompactor implements SummarizingCompactor {
  readonly summarizer: BaseSummarizer | undefined;
  readonly #interval: number;
  readonly #overlap: number;

  /** @throws MeshError `invalid_argument` for figures that are none */
  constructor({ compactionInterval, overlapSize = 0, summarizer }: SlidingWindowContextCompactorOptions) {
    this.#interval = wholeNumber('compactionInterval', compactionInterval, 1);
    this.#overlap = wholeNumber('overlapSize', overlapSize, 0);
    this.summarizer = summarizer;
  }

  toSummarize({ events, past }: PromptHistory): number {
    const ids = [...new Set(events.slice(0, past).map(({ invocationId }) => invocationId))];
    if (ids.length < this.#interval + this.#overlap) return 0;
    const kept = new Set(this.#overlap === 0 ? [] : ids.slice(-this.#overlap));
    const first = events.findIndex(({ invocationId }, at) => at >= past || kept.has(invocationId));
    return first === -1 ? events.length : first;
  }
}

export interface TruncatingContextCompactorOptions {
  /** So many of the last events are shown at most. */
  threshold: number;
  /** And so many of its first ones; default 0. */
  preserveLeadingEvents?: number;
}

/** Shows the last events alone. What started the turn is always among them, and the call that a result belongs to. */
export class TruncatingContextCompactor implements TruncatingCompactor {
  readonly threshold: number;
  readonly preserveLeadingEvents: number;

  /** @throws MeshError `invalid_argument` for figures that are none */
  constructor({ threshold, preserveLeadingEvents = 0 }: TruncatingContextCompactorOptions) {
    this.threshold = wholeNumber('threshold', threshold, 1);
    this.preserveLeadingEvents = wholeNumber('preserveLeadingEvents', preserveLeadingEvents, 0);
  }
}

function wholeNumber(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new MeshError('invalid_argument', `${name} must be a whole number from ${least}, not ${value}`);
}
