import { setTimeout as pause } from 'node:timers/promises';
import { provisionUser } from '@agentmesh/mesh';
import {
  type KillPoint,
  killPoints,
  planFaults,
  type Random,
  type RestartableServer,
} from '@agentmesh/testing';
import type { Field } from './field.ts';
import { leaderOf } from './queues.ts';

/** The targets of kills, as a deck of ten; each server has one card. */
const deck = [
  'front_agent',
  'middle_agent',
  'back_agent',
  'front_agent',
  'add_remote',
  'add_remote',
  'gateway',
  'gateway',
  'nats',
  'redis',
] as const;
type Target = (typeof deck)[number];

export interface FaultLoopOptions {
  field: Field;
  random: Random;
  everyMs: number;
  signal: AbortSignal;
  onFault?: (what: string) => void;
}

/** The numbers of kills by target. */
export type Kills = Record<string, number>;

/** The time after which a replica that did not reach its kill point dies anyway, in ms. */
const patienceMs = 1_500;

/**
 * Kills targets at times that follow from the seed, until the signal. Then waits until all of them are up
 * again.
 */
export async function killNowAndThen(options: FaultLoopOptions): Promise<Kills> {
  const { random, everyMs, signal, onFault } = options;
  const kills: Kills = {};
  const pending = new Set<Promise<void>>();
  for (const { waitMs, fault } of planFaults({ random, deck, everyMs })) {
    // Drawn before the pause, so that the plan does not depend on the time of the signal.
    const choice = choose(fault, random);
    await pause(waitMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    const name = `${choice.target}${choice.point ? ` at ${choice.point}` : ''}`;
    kills[name] = (kills[name] ?? 0) + 1;
    onFault?.(name);
    const done = strike(options.field, choice);
    pending.add(done);
    void done.finally(() => pending.delete(done)).catch(() => {});
  }
  await Promise.all(pending);
  return kills;
}

interface Choice {
  target: Target;
  which: number;
  /** The kill point, for our own services only; without it the target dies at once. */
  point?: KillPoint;
  passes: number;
  downMs: number;
}

const pointsOf = (target: Target): readonly KillPoint[] => {
  if (target === 'add_remote') return ['mid-tool'];
  return target === 'nats' || target === 'redis' || target === 'gateway' ? [] : killPoints;
};

function choose(target: Target, random: Random): Choice {
  const points = pointsOf(target);
  const point = points.length > 0 && random.chance(0.6) ? random.pick(points) : undefined;
  return {
    target,
    which: random.integer(0, 9),
    ...(point && { point }),
    passes: random.integer(0, 3),
    downMs: random.integer(50, 500),
  };
}

async function strike(field: Field, { target, which, point, passes, downMs }: Choice): Promise<void> {
  if (target === 'redis') return await restart(await field.redis.primary(), downMs);
  if (target === 'nats') return await restart(await natsServerOf(field, which), downMs);
  const places = target === 'gateway' ? field.gateways : field.parts[target];
  const place = places[which % places.length];
  if (point) await place?.killAt(point, passes, patienceMs);
  else await place?.kill();
}

/** Returns a NATS server to kill. In a cluster, every second time it is the leader of the runs. */
async function natsServerOf({ nats, natsUrl, login }: Field, which: number): Promise<RestartableServer> {
  const [first] = nats;
  if (!first) throw new Error('there is no NATS server');
  if (nats.length === 1) return first;
  const leader = which % 2 === 0 ? await leaderOf(natsUrl, login(provisionUser)) : undefined;
  return nats.find((node) => 'name' in node && node.name === leader) ?? nats[which % nats.length] ?? first;
}

async function restart(server: RestartableServer, downMs: number): Promise<void> {
  await server.kill();
  await pause(downMs);
  await server.start();
}
