import { seededRandom } from '@agentmesh/testing';
import type { History, Violation } from './check/history.ts';
import { check } from './check/rules.ts';
import type { ComeBack } from './client.ts';
import { openEffects } from './effects.ts';
import { type Kills, killNowAndThen } from './fault-loop.ts';
import { startField } from './field.ts';
import { chaosModel } from './model.ts';
import { readHistory } from './read-history.ts';
import { driveTraffic, type Traffic } from './traffic.ts';

export interface ChaosOptions {
  seed: number;
  /** Operations offered in all. */
  runs: number;
  /** Clients that work at the same time; default 12. */
  clients?: number;
  /** Messages sent to one session at the same time; default 1. */
  atOnce?: number;
  /** Mean time between two kills, in ms; default 1,000. */
  killEveryMs?: number;
  /** Time without a sign of life after which a run is delivered again, in ms; default 2,000. */
  ackWaitMs?: number;
  /** Mean time of a model's answer, in ms; default 40. */
  thinkMs?: number;
  /** Longest time of one operation with all its attempts, in ms; default 60,000. */
  patienceMs?: number;
  /** NATS servers; default 1. */
  natsServers?: number;
  comeBack?: ComeBack;
  /** Ends the run before its time; it throws the reason then. */
  signal?: AbortSignal;
  onFault?: (what: string) => void;
  onDone?: (done: number) => void;
  onLine?: (replica: string, line: string) => void;
}

export interface ChaosResult {
  traffic: Traffic;
  history: History;
  violations: Violation[];
  kills: Kills;
  redeliveries: number;
  /** Commands that NATS still keeps although they were acknowledged. */
  ghosts: number;
  /** What had not come to an end when the history was read. */
  unsettled: string[];
  /** From the first operation to the end of the last, in ms. */
  trafficMs: number;
  totalMs: number;
}

/** Starts the whole mesh, sends it work, kills what it is made of, and judges the history. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, runs, clients = 12, atOnce = 1, killEveryMs = 1_000 } = options;
  const { ackWaitMs = 2_000, thinkMs = 40, patienceMs = 60_000, comeBack = 'reattach', onLine } = options;
  const begin = performance.now();
  await using field = await startField({
    model: chaosModel(seed, thinkMs),
    ackWaitMs,
    ...(options.natsServers !== undefined && { natsServers: options.natsServers }),
    ...(onLine && { onLine }),
  });
  using effects = openEffects(field.redis.url);
  const over = new AbortController();
  const faults = killNowAndThen({
    field,
    random: seededRandom(seed).fork('faults'),
    everyMs: killEveryMs,
    signal: over.signal,
    ...(options.onFault && { onFault: options.onFault }),
  });
  const at = performance.now();
  let done = 0;
  let traffic: Traffic;
  try {
    traffic = await driveTraffic({
      ...{ seed, runs, clients, atOnce, comeBack, patienceMs, signal: options.signal },
      gateways: field.gatewayUrls,
      onDone: () => options.onDone?.(++done),
    });
  } finally {
    over.abort();
    await faults;
  }
  options.signal?.throwIfAborted();
  const trafficMs = performance.now() - at;
  const { redeliveries, ghosts, unsettled, ...history } = await readHistory(field, effects, traffic);
  const violations = check(history);
  const totalMs = performance.now() - begin;
  return {
    traffic,
    history,
    violations,
    kills: await faults,
    redeliveries,
    ghosts,
    unsettled,
    trafficMs,
    totalMs,
  };
}
