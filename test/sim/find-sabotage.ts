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

/** A fault at an operation of a scenario. */
interface Point {
  scenario: Scenario;
  fault: OpFault;
}

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
  const points: Point[] = [];
  const attempt = async ({ seed: own, scenario, faults: planned }: Candidate) => {
    histories += 1;
    const faults = { ...planned, sabotage };
    const { violations, ops } = await simulate(own, scenario, faults);
    for (const fault of faultsAt(ops.filter(isOfStage), opFaultKinds)) points.push({ scenario, fault });
    return violations.length > 0 ? { seed: own, scenario, faults, violations } : undefined;
  };
  for (const scenario of scenarios.values()) {
    const found = await attempt({ seed, scenario, faults: {} });
    if (found) return { histories, found };
  }
  for (const candidate of withFaults([...points], seed)) {
    if (histories === mostHistories) break;
    const found = await attempt(candidate);
    if (found) return { histories, found };
  }
  return { histories };
}

/** Yields in turn scenarios with a fault at an operation, and random histories. */
function* withFaults(points: readonly Point[], seed: string): Generator<Candidate, void, void> {
  const random = seededRandom(`${seed}/sabotage`);
  for (const [n, { scenario, fault }] of random.shuffle(points).entries()) {
    yield { seed, scenario, faults: { ops: [fault] } };
    yield randomPlan(`${Number(seed) + n}`);
  }
}
