import { type Random, seededRandom } from '@agentmesh/testing';
import { allVisitKinds } from '../../chaos/plan/visit-kinds.ts';
import { visitsOf } from '../../chaos/plan/visits.ts';
import type { Step, Visit } from '../clients/visit.ts';
import type { Replicas } from '../stage/place.ts';
import type { Scenario } from './scenario.ts';

/** The users of a history: few, so that their sessions share what a user has. */
const users = ['u1', 'u2'];
/** The share of the histories whose clients send HTTP: a server costs as much time as some hundred operations. */
const httpShare = 0.15;
/** The size of a large message, in bytes: just over the limit of the simulated server. */
const largeBytes = 70_000;

/** Draws the processes and the traffic of a history. */
export function randomScenario(seed: string): Scenario {
  const random = seededRandom(`${seed}/scenario`);
  const planned = visitsOf(random.integer(0, 1e9), ['none'], allVisitKinds);
  const visits = Array.from({ length: random.integer(1, 3) }, (): Visit => {
    const { bursts } = planned.next().value;
    return { user: random.pick(users), bursts: bursts.map((burst) => burst.map(cheaper)) };
  });
  return {
    ...{ name: 'random', replicas: drawReplicas(random), visits, leastShare: 0 },
    hasHttp: random.fork('http').chance(httpShare),
    ...(random.chance(0.1) && { rolls: 'front_agent' }),
  };
}

function drawReplicas(random: Random): Replicas {
  const few = () => random.integer(1, 2);
  return {
    ...{ gateway: few(), front_agent: random.integer(1, 3), middle_agent: few(), back_agent: few() },
    ...{ add_remote: few(), long_work: few() },
  };
}

/** Makes large messages and results smaller: megabytes would cost more than they find. */
function cheaper(step: Step): Step {
  if (step.do !== 'say') return step;
  if (step.kind === 'big') return { ...step, kind: 'remote' };
  return step.padBytes === undefined ? step : { ...step, padBytes: largeBytes };
}
