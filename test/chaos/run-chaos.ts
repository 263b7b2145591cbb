import { seededRandom } from '@agentmesh/testing';
import type { History, Violation } from './check/history.ts';
import { check } from './check/rules.ts';
import type { ComeBack } from './client.ts';
import { type Kills, killNowAndThen } from './fault-loop.ts';
import { startField } from './field.ts';
import { chaosModel } from './model.ts';
import { readHistory } from './read-history.ts';
import { driveTraffic, type Traffic } from './traffic.ts';

export interface ChaosOptions {
  seed: number;
  /** The number of operations. */
  runs: number;
  /** The number of clients that work at the same time; default 12. */
  clients?: number;
  /** The number of messages sent to one session at the same time; default 1. */
  atOnce?: number;
  /** The mean time between two kills, in ms; default 1,000. */
  killEveryMs?: number;
  /** The silence after which a run is delivered again, in ms; default 2,000. */
  ackWaitMs?: number;
  /** The mean time of a model's answer, in ms; default 40. */
  thinkMs?: number;
  /** The longest time of one operation with all its attempts, in ms; default 60,000. */
  patienceMs?: number;
  /** The number of NATS servers; default 1. */
  natsServers?: number;
  comeBack?: ComeBack;
  /** Ends the run early. `runChaos` then throws the reason. */
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
  /** The number of acknowledged commands that NATS still keeps. */
  ghosts: number;
  /** The work that had not ended when the history was read. */
  unsettled: string[];
  /** The time from the first operation to the end of the last one, in ms. */
  trafficMs: number;
  totalMs: number;
}

/** Starts a whole mesh, sends it work, kills its parts, and checks the history. */
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
  const { redeliveries, ghosts, unsettled, ...history } = await readHistory(field, traffic);
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
