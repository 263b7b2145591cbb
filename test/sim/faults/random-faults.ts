import { type Random, seededRandom } from '@agentmesh/testing';
import type { Part, Replicas } from '../stage/place.ts';
import { between } from '../world/random.ts';
import type { FaultPlan } from './fault-plan.ts';
import { type TimedFault, timedFaultKinds } from './timed-fault.ts';

/** The greatest number of faults at times. */
const mostFaults = 4;
/** The time after the last fault in which small faults come on, in ms. */
const calmMs = 3_000;

/** Draws the faults of one history: small faults for each message, and some large ones at times. */
export function randomFaults(seed: string, replicas: Replicas): FaultPlan {
  const random = seededRandom(`${seed}/faults`);
  const rate = (share: number, most: number) => (random.chance(share) ? random.next() * most : 0);
  const rates = {
    slowMessage: rate(0.6, 0.2),
    slowMs: random.pick([20, 200, 1_600]),
    lostAck: random.fork('acks').chance(0.3) ? random.fork('lostAck').next() * 0.05 : 0,
    lostCall: rate(0.3, 0.05),
    lostReply: rate(0.4, 0.1),
    failedCall: rate(0.2, 0.02),
  };
  const waitsForReplica = random.fork('replica').chance(0.5);
  const spanMs = random.pick([200, 600, 4_000]);
  const places = placesOf(replicas);
  const timed = Array.from({ length: random.integer(0, mostFaults) }, () => draw(random, spanMs, places));
  const ofClock = random.fork('clock');
  if (ofClock.chance(0.3)) timed.push({ ...draw(ofClock, spanMs, places), kind: 'clock' });
  return { rates, timed, calmAtMs: spanMs + calmMs, flushMs: random.chance(0.3) ? 200 : 0, waitsForReplica };
}

function draw(random: Random, spanMs: number, places: readonly string[]): TimedFault {
  return {
    atMs: between(random, 0, spanMs),
    // Deaths and stops are the usual faults.
    kind: random.pick([...timedFaultKinds, 'kill', 'kill', 'pause', 'pause']),
    target: random.pick(places),
    forMs: random.pick([30, 300, 1_500, 4_000]) * between(random, 0.5, 1.5),
  };
}

function placesOf(replicas: Replicas): string[] {
  return (Object.entries(replicas) as [Part, number][]).flatMap(([part, count]) =>
    Array.from({ length: count }, (_, at) => `${part}/${at + 1}`),
  );
}
