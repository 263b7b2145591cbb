import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import type {
  BaseSummarizer,
  PromptHistory,
  SummarizingCompactor,
  TruncatingCompactor,
} from '../base/context-compactor.ts';

export interface TokenBasedContextCompactorOptions {
  /** Length of the prompt, in tokens, from which a summary is made. */
  tokenThreshold: number;
  /** Number of the last events that are never summarized. */
  eventRetentionSize: number;
  /** Default: the agent's model. */
  summarizer?: BaseSummarizer;
}

const tokenBasedOptions: OptionNames<TokenBasedContextCompactorOptions> = {
  tokenThreshold: true,
  eventRetentionSize: true,
  summarizer: true,
};

/** Summarizes all but the last events when the prompt exceeds a number of tokens. */
export class TokenBasedContextCompactor implements SummarizingCompactor {
  readonly summarizer: BaseSummarizer | undefined;
  readonly #threshold: number;
  readonly #retention: number;

  /** @throws MeshError `invalid_argument` for an unknown option, or an invalid number */
  constructor(options: TokenBasedContextCompactorOptions) {
    const isOpen = new.target !== TokenBasedContextCompactor;
    assertOptions('a TokenBasedContextCompactor', options ?? null, tokenBasedOptions, { isOpen });
    const { tokenThreshold, eventRetentionSize, summarizer } = options;
    this.#threshold = wholeNumber('tokenThreshold', tokenThreshold, 1);
    this.#retention = wholeNumber('eventRetentionSize', eventRetentionSize, 0);
    this.summarizer = summarizer;
  }

  toSummarize({ events, tokens }: PromptHistory): number {
    return tokens > this.#threshold ? Math.max(events.length - this.#retention, 0) : 0;
  }
}

export interface SlidingWindowContextCompactorOptions {
  /** Number of invocations after which a summary is made of them. */
  compactionInterval: number;
  /**
   * Number of the newest invocations that stay in the prompt unchanged, and go into the next summary; default
   * 0.
   */
  overlapSize?: number;
  /** Default: the agent's model. */
  summarizer?: BaseSummarizer;
}

const slidingWindowOptions: OptionNames<SlidingWindowContextCompactorOptions> = {
  compactionInterval: true,
  overlapSize: true,
  summarizer: true,
};

/** Makes a summary after every given number of invocations. */
export class SlidingWindowContextCompactor implements SummarizingCompactor {
  readonly summarizer: BaseSummarizer | undefined;
  readonly #interval: number;
  readonly #overlap: number;

  /** @throws MeshError `invalid_argument` for an unknown option, or an invalid number */
  constructor(options: SlidingWindowContextCompactorOptions) {
    const isOpen = new.target !== SlidingWindowContextCompactor;
    assertOptions('a SlidingWindowContextCompactor', options ?? null, slidingWindowOptions, { isOpen });
    const { compactionInterval, overlapSize = 0, summarizer } = options;
    this.#interval = wholeNumber('compactionInterval', compactionInterval, 1);
    this.#overlap = wholeNumber('overlapSize', overlapSize, 0);
    this.summarizer = summarizer;
  }

  toSummarize({ events, past }: PromptHistory): number {
    const ids = [...new Set(events.slice(0, past).map(({ invocationId }) => invocationId))];
    if (ids.length < this.#interval + this.#overlap) return 0;
    const overlapIds = new Set(this.#overlap === 0 ? [] : ids.slice(-this.#overlap));
    const first = events.findIndex(({ invocationId }, at) => at >= past || overlapIds.has(invocationId));
    return first === -1 ? events.length : first;
  }
}

export interface TruncatingContextCompactorOptions {
  /** Maximum number of events that are shown. */
  threshold: number;
  /** Number of the session's first events that are shown too; default 0. */
  preserveLeadingEvents?: number;
}

const truncatingOptions: OptionNames<TruncatingContextCompactorOptions> = {
  threshold: true,
  preserveLeadingEvents: true,
};

/**
 * Shows only the last events. They always include the event that started the turn, and the call of each shown
 * result.
 */
export class TruncatingContextCompactor implements TruncatingCompactor {
  readonly threshold: number;
  readonly preserveLeadingEvents: number;

  /** @throws MeshError `invalid_argument` for an unknown option, or an invalid number */
  constructor(options: TruncatingContextCompactorOptions) {
    const isOpen = new.target !== TruncatingContextCompactor;
    assertOptions('a TruncatingContextCompactor', options ?? null, truncatingOptions, { isOpen });
    const { threshold, preserveLeadingEvents = 0 } = options;
    this.threshold = wholeNumber('threshold', threshold, 1);
    this.preserveLeadingEvents = wholeNumber('preserveLeadingEvents', preserveLeadingEvents, 0);
  }
}

function wholeNumber(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new MeshError('invalid_argument', `${name} must be a whole number from ${least}, not ${value}`);
}
