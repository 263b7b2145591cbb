import type { Event } from '@agentmesh/protocol';
import { type Attributes, metrics } from '@opentelemetry/api';

/** The kinds of work that are counted. */
export type WorkKind = 'run' | 'ask' | 'call' | 'job';

/** The limits of the buckets for times of work, in s: from a fast tool to an agent with a slow model. */
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

type Instruments = ReturnType<typeof makeInstruments>;

let made: Instruments | undefined;

/** The instruments are made at the first use: the process sets its provider when it starts. */
function instruments(): Instruments {
  made ??= makeInstruments();
  return made;
}

function makeInstruments() {
  const meter = metrics.getMeter('agentmesh');
  return {
    active: meter.createUpDownCounter('agentmesh.work.active', {
      description: 'Pieces of work in hand',
    }),
    duration: meter.createHistogram('agentmesh.work.duration', {
      unit: 's',
      description: 'Time of ended work in this process',
      advice: { explicitBucketBoundaries: durationBuckets },
    }),
    takeovers: meter.createCounter('agentmesh.work.takeovers', {
      description: 'Pieces of work that were begun before and did not end',
    }),
    failures: meter.createCounter('agentmesh.failures', {
      description: 'Errors of tools, models and callbacks',
    }),
    modelCalls: meter.createCounter('agentmesh.model.calls', {
      description: 'Answered calls of models',
    }),
    tokens: meter.createCounter('agentmesh.model.tokens', {
      unit: '{token}',
      description: 'Tokens of answered calls of models',
    }),
  };
}

/**
 * Counts a piece of work as in hand. Returns the function that counts its end, with the outcome and the code of
 * an error; further calls do nothing.
 */
export function countWork(kind: WorkKind, name: string): (outcome: string, code?: string) => void {
  const work: Attributes = { kind, name };
  const beganAt = performance.now();
  instruments().active.add(1, work);
  let isOver = false;
  return (outcome, code) => {
    if (isOver) return;
    isOver = true;
    instruments().active.add(-1, work);
    const seconds = (performance.now() - beganAt) / 1_000;
    instruments().duration.record(seconds, { ...work, outcome, ...(code !== undefined && { code }) });
  };
}

/** Counts work that another process had begun. */
export function countTakeover(kind: WorkKind, name: string): void {
  instruments().takeovers.add(1, { kind, name });
}

/** Counts an error of a tool, a model or a callback. */
export function countFailure(what: string, name: string): void {
  instruments().failures.add(1, { what, name });
}

/** Counts the model call behind an event of an agent, with its tokens. */
export function countModelCall({ author, modelVersion, usageMetadata }: Event): void {
  const of: Attributes = { agent: author, ...(modelVersion !== undefined && { model: modelVersion }) };
  const { modelCalls, tokens } = instruments();
  modelCalls.add(1, of);
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount } = usageMetadata ?? {};
  tokens.add(promptTokenCount ?? 0, { ...of, type: 'input' });
  tokens.add((candidatesTokenCount ?? 0) + (thoughtsTokenCount ?? 0), { ...of, type: 'output' });
}
