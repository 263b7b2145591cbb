import { type Random, seededRandom } from '@agentmesh/testing';
import {
  faultsAt,
  isOfStage,
  opsOf,
  type Report,
  type SearchOptions,
  searchHistories,
} from './every-crash-point.ts';
import type { FaultPlan } from './faults/fault-plan.ts';
import { type OpFault, opFaultKinds } from './faults/op-fault.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { simulate } from './simulate.ts';

/** The number of histories for one scenario, unless another one is given. */
const mostPairs = 4_000;

/**
 * Runs a scenario with faults at two operations: the second one is any operation of any process after the first. Draws
 * some of the pairs when there are too many.
 */
export async function pairs(scenario: Scenario, options: SearchOptions = {}): Promise<Report> {
  const { most = mostPairs } = options;
  return await searchHistories(pairsOf(scenario, { ...options, most }), scenario, { ...options, most });
}

/** Yields pairs of faults: with each first fault as many second ones as the budget has for it. */
async function* pairsOf(scenario: Scenario, options: SearchOptions): AsyncGenerator<FaultPlan, void, void> {
  const { seed = '1', faults = {}, most = mostPairs } = options;
  const random = seededRandom(`${seed}/pairs`);
  const firsts = random.shuffle([...faultsAt(await opsOf(scenario, options), opFaultKinds)]);
  const each = Math.max(1, Math.ceil(most / firsts.length));
  for (const first of firsts)
    for (const second of draw(random, await secondsAfter(first, scenario, { seed, faults }), each))
      yield { ...faults, ops: [first, second] };
}

/** Returns the faults at the operations that come after a first fault. */
async function secondsAfter(
  first: OpFault,
  scenario: Scenario,
  { seed, faults }: { seed: string; faults: FaultPlan },
): Promise<OpFault[]> {
  const { ops } = await simulate(seed, scenario, { ...faults, ops: [first] });
  const at = ops.findIndex(({ life, op }) => life === first.life && op === first.op);
  return [...faultsAt(ops.slice(at + 1).filter(isOfStage), opFaultKinds)];
}

const draw = <T>(random: Random, all: readonly T[], count: number): T[] =>
  random.shuffle(all).slice(0, count);
