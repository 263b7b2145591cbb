import { app } from './agents.ts';
import { type History, now, type Observations, type Violation } from './check/history.ts';
import { check } from './check/rules.ts';
import { openNatsDoor } from './clients/nats-door.ts';
import { carryOut } from './faults/carry-out.ts';
import { fillableBytes } from './faults/fill.ts';
import { type Field, startField } from './field.ts';
import { chaosModel } from './model.ts';
import type { PlannedFault } from './plan/faults.ts';
import type { Plan, PlanSettings } from './plan/plan.ts';
import { readHistory } from './read-history.ts';
import { driveTraffic, emptyTraffic, type Traffic } from './traffic.ts';

export interface ChaosOptions {
  plan: Plan;
  /** The longest time of one step of a client, in ms; default 60,000. */
  patienceMs?: number;
  /** Ends the run early. `runChaos` then throws the reason. */
  signal?: AbortSignal | undefined;
  onFault?: (what: string) => void;
  onDone?: (done: number) => void;
  onLine?: (replica: string, line: string) => void;
}

export interface ChaosResult {
  traffic: Traffic;
  history: History;
  violations: Violation[];
  /** The plan, with the faults that were carried out. */
  plan: Plan;
  redeliveries: number;
  /** The time from the first operation to the end of the last one, in ms. */
  trafficMs: number;
  totalMs: number;
}

/** The least share of the messages that must be completed, so that a run cannot pass by doing nothing. */
const leastShare = 0.7;

/** The settings of a plan, apart from its seed, its mixes and its runs. */
export const defaultSettings = {
  ...{ clients: 24, longestMs: 8_000, ackWaitMs: 2_000, thinkMs: 40 },
  ...{ natsServers: 1, redisKind: 'single', waitReplicas: 0 },
} satisfies Partial<PlanSettings>;

/** Starts a whole mesh, carries out the plan, and checks the history. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { plan, patienceMs = 60_000, signal, onLine } = options;
  const { settings } = plan;
  const begin = now();
  await using field = await startField({
    ...settings,
    model: chaosModel(settings.seed, settings.thinkMs),
    proxied: settings.mixes.includes('network'),
    ...(settings.mixes.includes('full') && { maxFileBytes: fillableBytes }),
    ...(onLine && { onLine }),
  });
  await using nats = await openNatsDoor(field.natsUrl, field.login('client'));
  const traffic = emptyTraffic();
  const at = now();
  let done = 0;
  const faults = await underFaults(field, options, async () => {
    const world = {
      ...{ app, traffic, nats, patienceMs, gateways: field.gatewayUrls },
      signal: signal ?? new AbortController().signal,
      onDone: () => options.onDone?.(++done),
    };
    await driveTraffic(world, plan.visits, settings.clients);
  });
  signal?.throwIfAborted();
  const trafficMs = now() - at;
  const observations: Observations = {
    ...{ messages: traffic.messages, acts: traffic.acts, news: nats.news },
    ...{ lives: field.log.lives, faults: field.log.faults },
  };
  const { redeliveries, ...history } = await readHistory(field, observations, { leastShare });
  return {
    ...{ traffic, history, redeliveries, trafficMs },
    violations: check(history),
    plan: { ...plan, faults },
    totalMs: now() - begin,
  };
}

/** Carries out the planned faults while the traffic lasts. Returns those that were carried out. */
async function underFaults(
  field: Field,
  { plan, onFault }: ChaosOptions,
  drive: () => Promise<void>,
): Promise<PlannedFault[]> {
  const over = new AbortController();
  const faults = carryOut({ field, faults: plan.faults, signal: over.signal, onFault });
  try {
    await drive();
  } finally {
    over.abort();
    await faults;
  }
  return await faults;
}
