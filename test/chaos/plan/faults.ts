import { type KillPoint, killPoints, planFaults, type Random, seededRandom } from '@agentmesh/testing';
import { partNames } from '../agents.ts';
import type { RedisKind } from '../field/servers.ts';
import type { Mix } from './mixes.ts';

/** The targets of faults: the places of a part, the gateways, the servers. */
export const targets = [...partNames, 'gateway', 'nats', 'redis'] as const;
export type Target = (typeof targets)[number];

/**
 * The kinds of faults:
 * - `kill`: SIGKILL; `kill-at`: SIGKILL at a kill point; `term`: SIGTERM; `pause`: SIGSTOP and SIGCONT
 * - `restart`: a server dies and comes back after `forMs`; `freeze`: a server is stopped for `forMs`
 * - `cut`: all connections of a process are reset; `refuse`: the process reaches the server not at all; `stall`:
 *   its connections are half open; `slow`: its bytes come late; `partition`: it reaches neither server
 * - `fill`: a server refuses writes, because it has no memory or no space
 * - `jump`: the wall clock of Redis jumps to another offset
 */
export type FaultKind =
  | 'kill'
  | 'kill-at'
  | 'term'
  | 'pause'
  | 'restart'
  | 'freeze'
  | 'cut'
  | 'refuse'
  | 'stall'
  | 'slow'
  | 'partition'
  | 'fill'
  | 'jump';

/** One fault of a plan. */
export interface PlannedFault {
  /** The time after the beginning of the traffic, in ms. */
  atMs: number;
  kind: FaultKind;
  target: Target;
  /** Chooses among the places or servers of the target. */
  which: number;
  /** The duration, in ms; 0 for a fault without one. */
  forMs: number;
  /** For `kill-at`: the point, and how often the process passes it before. */
  point?: KillPoint;
  passes?: number;
  /** For faults of the network: the server to which the connections lead. */
  side?: 'nats' | 'redis';
  /** For `jump`: the seconds by which the clock is ahead from then on, negative when it is behind. */
  aheadS?: number;
}

export interface FaultOptions {
  seed: number;
  mixes: readonly Mix[];
  /** The mean time between two faults, in ms; default depends on the mixes. */
  everyMs?: number | undefined;
  /** The longest time for which a server is away, in ms; such long times are rare. */
  longestMs: number;
  /** The time for which faults are planned, in ms. */
  untilMs: number;
  redisKind: RedisKind;
}

/** Services by the share of the faults that they get. */
const services: readonly Target[] = [
  ...(['front_agent', 'front_agent', 'middle_agent', 'back_agent'] as const),
  ...(['add_remote', 'add_remote', 'long_work', 'gateway', 'gateway'] as const),
];
const servers: readonly Target[] = ['nats', 'redis'];

type Drawn = Omit<PlannedFault, 'atMs'>;
type Draw = (random: Random, longestMs: number) => Drawn;

/** The longest way of a clock from the right time, in seconds. */
const longestJumpS = 30;

/** Draws a duration; most are short, and one in ten may be as long as the longest. */
function duration(random: Random, from: number, usual: number, longest: number): number {
  return random.integer(from, random.chance(0.1) ? Math.max(usual, longest) : usual);
}

const at = (random: Random, kind: FaultKind, target: Target, forMs = 0): Drawn => ({
  ...{ kind, target, forMs, which: random.integer(0, 9) },
});

/** Draws the fault of a service: it dies now or at a point of its work. */
function death(random: Random): Drawn {
  const target = random.pick(services);
  const points = target.endsWith('_agent') ? killPoints : target === 'gateway' ? [] : (['mid-tool'] as const);
  if (points.length > 0 && random.chance(0.5))
    return { ...at(random, 'kill-at', target), point: random.pick(points), passes: random.integer(0, 3) };
  return at(random, random.chance(0.3) ? 'term' : 'kill', target);
}

const draws: Record<Exclude<Mix, 'none'>, Draw> = {
  kills: (random) =>
    random.chance(0.8) ? death(random) : at(random, 'restart', random.pick(servers), random.integer(50, 500)),
  pauses: (random) =>
    random.chance(0.8)
      ? at(random, 'pause', random.pick(services), random.integer(1_000, 8_000))
      : at(random, 'freeze', random.pick(servers), random.integer(1_000, 4_000)),
  outages: (random, longestMs) =>
    at(
      random,
      random.pick(['restart', 'freeze']),
      random.pick(servers),
      duration(random, 1_000, 4_000, longestMs),
    ),
  network: (random, longestMs) => {
    const kind = random.pick(['cut', 'cut', 'refuse', 'stall', 'slow', 'partition'] as const);
    const forMs = kind === 'cut' ? 0 : duration(random, 500, 4_000, longestMs);
    return { ...at(random, kind, random.pick(services), forMs), side: random.pick(['nats', 'redis']) };
  },
  full: (random) =>
    at(random, 'fill', random.pick(['redis', 'redis', 'nats'] as const), random.integer(500, 4_000)),
  clock: (random) => ({
    ...at(random, 'jump', 'redis'),
    aheadS: random.integer(-longestJumpS, longestJumpS),
  }),
};

/** The mean time between two faults of one mix, in ms: longer where the faults last longer. */
const paces: Record<Exclude<Mix, 'none'>, number> = {
  ...{ kills: 1_000, pauses: 2_000, outages: 3_500, network: 1_500, full: 3_500, clock: 2_000 },
};

/** Returns the mean time between two faults of several mixes, in ms: more kinds come more often. */
function paceOf(active: readonly Exclude<Mix, 'none'>[]): number {
  const mean = active.reduce((sum, mix) => sum + paces[mix], 0) / active.length;
  return mean / Math.sqrt(active.length);
}

/** The share of moments with a second fault at the same time. */
const twoAtOnce = 0.1;

/**
 * The time from the end of a fault of the Redis behind Sentinels to its next one, in ms. A Sentinel waits for
 * eight seconds before it makes a server that comes back a replica, and until then no write is acknowledged;
 * without this time the mesh would stand still from one fault to the next.
 */
const sentinelRestMs = 15_000;

/** Leaves out the faults that a Redis of several servers cannot have, or that come before it is whole again. */
function bearable(faults: readonly PlannedFault[], redisKind: RedisKind): PlannedFault[] {
  let wholeAt = 0;
  return faults.filter(({ kind, target, atMs, forMs }) => {
    if (target !== 'redis' || redisKind === 'single') return true;
    if (kind === 'fill' || atMs < wholeAt) return false;
    if (redisKind === 'sentinel') wholeAt = atMs + forMs + sentinelRestMs;
    return true;
  });
}

/** Plans the faults of a seed, in the order of their times. */
export function planFaultsOf(options: FaultOptions): PlannedFault[] {
  return bearable(drawFaults(options), options.redisKind);
}

function drawFaults({
  seed,
  mixes,
  everyMs,
  longestMs,
  untilMs,
}: Omit<FaultOptions, 'redisKind'>): PlannedFault[] {
  const active = mixes.filter((mix) => mix !== 'none');
  if (active.length === 0) return [];
  const random = seededRandom(seed).fork('faults');
  const faults: PlannedFault[] = [];
  let atMs = 0;
  for (const { waitMs, fault: mix } of planFaults({
    random,
    deck: active,
    everyMs: everyMs ?? paceOf(active),
  })) {
    atMs += waitMs;
    if (atMs > untilMs) return faults;
    faults.push({ atMs, ...draws[mix](random, longestMs) });
    if (random.chance(twoAtOnce)) faults.push({ atMs, ...draws[random.pick(active)](random, longestMs) });
  }
  return faults;
}
