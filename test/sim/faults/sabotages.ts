import { type Sabotage as ChaosSabotage, sabotages as ofChaos } from '../../chaos/sabotage.ts';

/** The protections that real chaos does not remove. */
const ofSimulation = ['no-wait', 'lost-frame', 'own-clock'] as const;

/**
 * A protection that is removed: one of real chaos, the wait of a write for the replica of Redis, frames of the
 * gateway's streams, or the mesh's time, without which a process believes its own clock.
 */
export type Sabotage = ChaosSabotage | (typeof ofSimulation)[number];
export const sabotages: readonly Sabotage[] = [...ofChaos, ...ofSimulation];

/** Returns the protection that the code of a process lacks; the others are of servers. */
export const inProcess = (sabotage: Sabotage | undefined): ChaosSabotage | undefined =>
  ofChaos.find((name) => name === sabotage);
