import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import type { BaseContextCompactor, BaseSummarizer } from '../base/context-compactor.ts';
import { SlidingWindowContextCompactor, TokenBasedContextCompactor } from './compactors.ts';

/** How the conversations of an app are kept short; the names are those of ADK for Python. */
export interface EventsCompactionConfig {
  /** Writes the summaries; default the model of the agent whose prompt gets too long. */
  summarizer?: BaseSummarizer;
  /** After so many invocations; see `SlidingWindowContextCompactor`. */
  compactionInterval?: number;
  overlapSize?: number;
  /** From so many tokens on; see `TokenBasedContextCompactor`. */
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

/** @throws MeshError `invalid_argument` for an unknown option, or figures that are none */
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
