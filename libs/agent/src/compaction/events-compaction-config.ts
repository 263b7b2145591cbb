import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import type { BaseContextCompactor, BaseSummarizer } from '../base/context-compactor.ts';
import { SlidingWindowContextCompactor, TokenBasedContextCompactor } from './compactors.ts';

/** The settings for short prompts in an app; the names come from ADK for Python. */
export interface EventsCompactionConfig {
  /** The writer of the summaries; default: the model of the agent whose prompt gets too long. */
  summarizer?: BaseSummarizer;
  /** Number of invocations; see `SlidingWindowContextCompactor`. */
  compactionInterval?: number;
  overlapSize?: number;
  /** Number of tokens; see `TokenBasedContextCompactor`. */
  tokenThreshold?: number;
  eventRetentionSize?: number;
}

const optionNames: OptionNames<EventsCompactionConfig> = {
  summarizer: true,
  compactionInterval: true,
  overlapSize: true,
  tokenThreshold: true,
  eventRetentionSize: true,
};

/**
 * Makes the compactors for a configuration.
 *
 * @throws MeshError `invalid_argument` for an unknown option, or an invalid number
 */
export function compactorsOf(config: EventsCompactionConfig | undefined): BaseContextCompactor[] {
  if (!config) return [];
  assertOptions('eventsCompactionConfig', config, optionNames);
  const { compactionInterval, overlapSize = 0, tokenThreshold, eventRetentionSize = 0 } = config;
  const summarizer = config.summarizer && { summarizer: config.summarizer };
  if (compactionInterval === undefined && tokenThreshold === undefined)
    throw new MeshError(
      'invalid_argument',
      'eventsCompactionConfig needs a compactionInterval or a tokenThreshold',
    );
  return [
    ...(tokenThreshold === undefined
      ? []
      : [new TokenBasedContextCompactor({ tokenThreshold, eventRetentionSize, ...summarizer })]),
    ...(compactionInterval === undefined
      ? []
      : [new SlidingWindowContextCompactor({ compactionInterval, overlapSize, ...summarizer })]),
  ];
}
