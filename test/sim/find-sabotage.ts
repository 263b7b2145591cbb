import { seededRandom } from '@agentmesh/testing';
import { type BadHistory, faultsAt, isOfStage } from './every-crash-point.ts';
import type { FaultPlan } from './faults/fault-plan.ts';
import { type OpFault, opFaultKinds } from './faults/op-fault.ts';
import type { Sabotage } from './faults/sabotages.ts';
import { randomPlan } from './random-history.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { scenarios } from './scenarios/scenarios.ts';
import { simulate } from './simulate.ts';

/** The number of histories within which a sabotage must be found. */
const mostHistories = 1_000;

interface Candidate {
  seed: string;
  scenario: Scenario;
  faults: FaultPlan;
}

/** Searches for a history in which a sabotage breaks a rule. */
export async function findSabotage(
  sabotage: Sabotage,
  seed: string,
): Promise<{ histories: number; found?: BadHistory }> {
  let histories = 0;
  for await (const { seed: own, scenario, faults } of candidates(sabotage, seed)) {
    if (histories === mostHistories) break;
    histories += 1;
    const { violations } = await simulate(own, scenario, { ...faults, sabotage });
    if (violations.length > 0)
      return { histories, found: { seed: own, scenario, faults: { ...faults, sabotage }, violations } };
  }
  return { histories };
}

/** Yields each scenario without a fault, and then in turn random histories and scenarios with a fault at an operation. */
async function* candidates(sabotage: Sabotage, seed: string): AsyncGenerator<Candidate, void, void> {
  const random = seededRandom(`${seed}/sabotage`);
  const points: { scenario: Scenario; fault: OpFault }[] = [];
  for (const scenario of scenarios.values()) {
    yield { seed, scenario, faults: {} };
    const { ops } = await simulate(seed, scenario, { sabotage });
    for (const fault of faultsAt(ops.filter(isOfStage), opFaultKinds)) points.push({ scenario, fault });
  }
  for (const [n, { scenario, fault }] of random.shuffle(points).entries()) {
    yield { seed, scenario, faults: { ops: [fault] } };
    yield randomPlan(`${Number(seed) + n}`);
  }
}
