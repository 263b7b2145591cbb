import { type Sabotage as ChaosSabotage, sabotages as ofChaos } from '../../chaos/sabotage.ts';

/**
 * A protection that is removed: one of real chaos, the wait of a write for the replica of Redis, or frames of the
 * gateway's streams.
 */
export type Sabotage = ChaosSabotage | 'no-wait' | 'lost-frame';
export const sabotages: readonly Sabotage[] = [...ofChaos, 'no-wait', 'lost-frame'];

/** Returns the protection that the code of a process lacks; the others are of servers. */
export const inProcess = (sabotage: Sabotage | undefined): ChaosSabotage | undefined =>
  ofChaos.find((name) => name === sabotage);
