import { type Attributes, type Histogram, metrics } from '@opentelemetry/api';

/** The limits of the buckets for times, in s: from a fast tool to a slow model. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

const descriptions = {
  'agentmesh.model.duration': 'Time of calls of models, to the end of the answer',
  'agentmesh.tool.duration': 'Time of calls of tools, at the agent that calls',
};

const made = new Map<string, Histogram>();

/** The instruments are made at the first use: the process sets its provider when it starts. */
function histogram(name: keyof typeof descriptions): Histogram {
  const found = made.get(name);
  if (found) return found;
  const instrument = metrics.getMeter('agentmesh').createHistogram(name, {
    unit: 's',
    description: descriptions[name],
    advice: { explicitBucketBoundaries: buckets },
  });
  made.set(name, instrument);
  return instrument;
}

/** The time of a call so far. */
export interface Measure {
  /** Records the time of the call; only the first end counts. A call that somebody cancels has none. */
  end(outcome: 'completed' | 'failed' | 'pending'): void;
}

/** Begins to measure a call of a tool or a model. Labels are names of definitions: their number is bounded. */
export function measure(name: keyof typeof descriptions, labels: Attributes): Measure {
  const beganAt = performance.now();
  let isOver = false;
  return {
    end(outcome) {
      if (isOver) return;
      isOver = true;
      histogram(name).record((performance.now() - beganAt) / 1_000, { ...labels, outcome });
    },
  };
}
