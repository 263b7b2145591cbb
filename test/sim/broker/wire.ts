import type { Random } from '@agentmesh/testing';
import type { Ops } from '../faults/ops.ts';
import type { Rates } from '../faults/rates.ts';
import { between } from '../world/random.ts';
import type { World } from '../world/world.ts';

/** The things that all connections of a simulation share. */
export interface Wire {
  world: World;
  ops: Ops;
  /** The rates of small faults, which change in the course of a history. */
  rates: Rates;
}

/** The least and the usual longest time of a message to a server or back, in ms. */
const usualMs = [0.05, 0.6] as const;
const slowFromMs = 5;

/** Draws the time of one message on its way, in ms. */
export function latency({ rates }: Wire, random: Random): number {
  const base = between(random, ...usualMs);
  const isSlow = rates.slowMessage > 0 && random.chance(rates.slowMessage);
  return isSlow ? base + between(random, slowFromMs, rates.slowMs) : base;
}
