import type { Violation } from '../chaos/check/history.ts';
import type { FaultPlan } from './faults/fault-plan.ts';
import type { OpFault, OpFaultKind } from './faults/op-fault.ts';
import type { LoggedOp } from './faults/ops.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { type Result, simulate } from './simulate.ts';

/** A history that breaks rules. */
export interface BadHistory {
  scenario: Scenario;
  seed: string;
  faults: FaultPlan;
  violations: Violation[];
}

/** The result of many histories. */
export interface Report {
  histories: number;
  /** The planned faults whose operations were not reached: the history went another way before. */
  missed: number;
  bad: BadHistory[];
}

/** A part of the work, so that several processes share it: every `count`th history from number `index` on. */
export interface Shard {
  index: number;
  count: number;
}

export const wholeWork: Shard = { index: 0, count: 1 };

export interface SearchOptions {
  seed?: string;
  /** Faults that every history has. */
  faults?: FaultPlan;
  shard?: Shard;
  /** The search ends after so many histories. */
  most?: number;
  /** Called after each history. Returns true to end the search. */
  onHistory?: (result: Result, bad: BadHistory | undefined) => boolean | undefined;
}

/** Runs histories one after the other, and collects the bad ones. */
export async function searchHistories(
  plans: AsyncIterable<FaultPlan> | Iterable<FaultPlan>,
  scenario: Scenario,
  { seed = '1', shard = wholeWork, most = Number.POSITIVE_INFINITY, onHistory }: SearchOptions = {},
): Promise<Report> {
  const report: Report = { histories: 0, missed: 0, bad: [] };
  let number = 0;
  for await (const faults of plans) {
    number += 1;
    // Counted over all shards, so that the result does not depend on their number.
    if (number > most) break;
    if (number % shard.count !== shard.index % shard.count) continue;
    const result = await simulate(seed, scenario, faults);
    report.histories += 1;
    report.missed += Math.max(0, (faults.ops?.length ?? 0) - result.struck.length);
    const { violations } = result;
    const bad = violations.length > 0 ? { scenario, seed, faults, violations } : undefined;
    if (bad) report.bad.push(bad);
    if (onHistory?.(result, bad)) break;
  }
  return report;
}

/** Returns the operations in the traffic of a scenario without faults at operations. */
export async function opsOf(
  scenario: Scenario,
  { seed = '1', faults = {} }: SearchOptions = {},
): Promise<LoggedOp[]> {
  const { ops } = await simulate(seed, scenario, faults);
  return ops.filter(isOfStage);
}

/** Clients do not die: what they do is no crash point. */
export const isOfStage = ({ life }: LoggedOp) => !life.startsWith('client#');

/** Yields all faults at the operations. */
export function* faultsAt(ops: readonly LoggedOp[], kinds: readonly OpFaultKind[]): Generator<OpFault> {
  for (const { life, op } of ops) for (const when of kinds) yield { life, op, when };
}

/**
 * Runs a scenario once without a fault, and then once for each operation of each process: the process dies right
 * before the operation, and right after it. Other kinds of faults may take the place of the deaths.
 */
export async function everyCrashPoint(
  scenario: Scenario,
  { kinds = ['before', 'after'], ...options }: SearchOptions & { kinds?: readonly OpFaultKind[] } = {},
): Promise<Report> {
  const { faults = {} } = options;
  const ops = await opsOf(scenario, options);
  const plans = [faults, ...[...faultsAt(ops, kinds)].map((fault) => ({ ...faults, ops: [fault] }))];
  return await searchHistories(plans, scenario, options);
}
