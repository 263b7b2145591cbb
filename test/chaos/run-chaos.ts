import { app } from './agents.ts';
import { type History, now, type Observations, type Violation } from './check/history.ts';
import { check } from './check/rules.ts';
import { type NatsDoor, openNatsDoor } from './clients/nats-door.ts';
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
  /** The longest time of one step of a client, in ms; default 150,000. */
  patienceMs?: number;
  /** The time after which clients begin no visit, in ms; default when all visits of the plan are made. */
  trafficMs?: number | undefined;
  /** Ends the run early. `runChaos` then throws the reason. */
  signal?: AbortSignal | undefined;
  onFault?: (what: string) => void;
  /** Tells that a part of the run has ended, after which the next one begins. */
  onStep?: (what: string) => void;
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
  /** See `FinalHistory`. */
  lostPayloads: number;
  /** The time from the first operation to the end of the last one, in ms. */
  trafficMs: number;
  totalMs: number;
}

/** The least share of the messages that must be completed, so that a run cannot pass by doing nothing. */
const leastShare = 0.7;

/** The settings of a plan, apart from its seed, its mixes and its runs. */
export const defaultSettings = {
  ...{ clients: 24, longestMs: 8_000, ackWaitMs: 2_000, thinkMs: 40 },
  ...{ natsServers: 1, accounts: 'file', redisKind: 'single', waitReplicas: 0 },
} satisfies Partial<PlanSettings>;

/** A mesh under chaos, with the clients' way to it. */
export interface OpenMesh extends AsyncDisposable {
  field: Field;
  nats: NatsDoor;
}

/** Starts a whole mesh for the plans with these settings. */
export async function openMesh(settings: PlanSettings, onLine?: ChaosOptions['onLine']): Promise<OpenMesh> {
  await using owners = new AsyncDisposableStack();
  const field = owners.use(
    await startField({
      ...settings,
      model: chaosModel(settings.seed, settings.thinkMs),
      proxied: settings.mixes.includes('network'),
      movesClock: settings.mixes.includes('clock'),
      ...(settings.mixes.includes('full') && { maxFileBytes: fillableBytes }),
      ...(onLine && { onLine }),
    }),
  );
  const nats = owners.use(await openNatsDoor(field.natsUrl, field.login('client')));
  const all = owners.move();
  return { field, nats, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Starts a whole mesh, carries out the plan, and checks the history. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const begin = now();
  await using mesh = await openMesh(options.plan.settings, options.onLine);
  const result = await playRound(mesh, options);
  return { ...result, totalMs: now() - begin };
}

/** Carries out a plan on a mesh, waits for the end of all work, and checks the history. */
export async function playRound({ field, nats }: OpenMesh, options: ChaosOptions): Promise<ChaosResult> {
  const { plan, patienceMs = 150_000, signal } = options;
  const traffic = emptyTraffic();
  const begin = now();
  let done = 0;
  const faults = await underFaults(field, options, async () => {
    const world = {
      ...{ app, traffic, nats, patienceMs, gateways: field.gatewayUrls },
      signal: signal ?? new AbortController().signal,
      ...(options.trafficMs !== undefined && { until: begin + options.trafficMs }),
      onDone: () => options.onDone?.(++done),
    };
    await driveTraffic(world, plan.visits, plan.settings.clients);
  });
  signal?.throwIfAborted();
  options.onStep?.('all faults are over');
  const trafficMs = now() - begin;
  const observations: Observations = {
    ...{ messages: traffic.messages, acts: traffic.acts, news: nats.news },
    ...{ lives: field.log.lives, faults: field.log.faults },
  };
  await Promise.all(field.replicas.map((replica) => replica.ready()));
  options.onStep?.('all processes are ready');
  const { redeliveries, lostPayloads, ...read } = await readHistory(field, observations, { leastShare });
  options.onStep?.('the history is read');
  // The next round on the same mesh empties these lists.
  const history: History = { ...read, news: [...read.news], faults: [...read.faults] };
  return {
    ...{ traffic, history, redeliveries, lostPayloads, trafficMs },
    violations: check(history),
    plan: { ...plan, faults },
    totalMs: now() - begin,
  };
}

/** Carries out the planned faults while the traffic lasts. Returns those that were carried out. */
async function underFaults(
  field: Field,
  { plan, onFault, onStep }: ChaosOptions,
  drive: () => Promise<void>,
): Promise<PlannedFault[]> {
  const over = new AbortController();
  const faults = carryOut({ field, faults: plan.faults, signal: over.signal, onFault });
  try {
    await drive();
    onStep?.('the clients are done');
  } finally {
    over.abort();
    await faults;
  }
  return await faults;
}
