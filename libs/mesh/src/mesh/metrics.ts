import { type Event, meshTime } from '@agentmesh/protocol';
import type { PriceOf } from '@agentmesh/service';
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
    redeliveries: meter.createCounter('agentmesh.work.redeliveries', {
      description: 'Deliveries of a queue after the first one of a message',
    }),
    waits: meter.createCounter('agentmesh.session.waits', {
      description: 'Runs that had to wait for their session, or for the share of their user',
    }),
    waitDuration: meter.createHistogram('agentmesh.session.wait.duration', {
      unit: 's',
      description: 'Time that runs waited before they got their session',
      advice: { explicitBucketBoundaries: durationBuckets },
    }),
    calls: meter.createCounter('agentmesh.calls', {
      description: 'Calls of other services, and transfers to them, at the side that calls',
    }),
    sessionReads: meter.createCounter('agentmesh.session.reads', {
      description: 'Sessions that were opened for a turn',
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
    cost: meter.createCounter('agentmesh.model.cost', {
      description: 'Price of these tokens by MESH_PRICES, in its currency',
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

/** Counts a delivery by a queue, if it is not the first one of its message. */
export function countDelivery(kind: WorkKind, name: string, attempt: number): void {
  if (attempt > 1) instruments().redeliveries.add(1, { kind, name });
}

/** Counts a run that has to wait for its session, or for the share of its user. */
export function countWait(name: string, reason: 'session' | 'share'): void {
  instruments().waits.add(1, { name, reason });
}

/** Counts the end of such a wait, which began at `since`, in epoch ms by the clock of the process that began it. */
export function countWaited(name: string, since: number): void {
  instruments().waitDuration.record(Math.max(0, meshTime() - since) / 1_000, { name });
}

/** Counts a call of another service, or a transfer to it, when it has ended. */
export function countCall(kind: 'agent' | 'tool' | 'transfer', name: string, isFailed: boolean): void {
  instruments().calls.add(1, { kind, name, outcome: isFailed ? 'failed' : 'completed' });
}

/** Counts a session that was opened for a turn; `isHit` says whether its earlier events were in this process. */
export function countSessionRead(isHit: boolean): void {
  instruments().sessionReads.add(1, { cache: isHit ? 'hit' : 'miss' });
}

/** Counts an error of a tool, a model or a callback. */
export function countFailure(what: string, name: string): void {
  instruments().failures.add(1, { what, name });
}

/**
 * Counts the model call behind an event of an agent, with its tokens, and with their cost when the model has a price.
 */
export function countModelCall(
  { author, modelVersion, usageMetadata }: Event,
  priceOf: PriceOf = () => undefined,
): void {
  const of: Attributes = { agent: author, ...(modelVersion !== undefined && { model: modelVersion }) };
  const { modelCalls, tokens, cost } = instruments();
  modelCalls.add(1, of);
  const input = usageMetadata?.promptTokenCount ?? 0;
  const cached = Math.min(usageMetadata?.cachedContentTokenCount ?? 0, input);
  const output = (usageMetadata?.candidatesTokenCount ?? 0) + (usageMetadata?.thoughtsTokenCount ?? 0);
  tokens.add(input, { ...of, type: 'input' });
  tokens.add(output, { ...of, type: 'output' });
  if (cached > 0) tokens.add(cached, { ...of, type: 'cached' });
  const price = modelVersion === undefined ? undefined : priceOf(modelVersion);
  if (!price) return;
  cost.add(((input - cached) * price.input + cached * price.cached + output * price.output) / 1e6, of);
}
