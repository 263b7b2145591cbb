import { type Sabotage as ChaosSabotage, sabotages as ofChaos } from '../../chaos/sabotage.ts';

/** A protection that is removed: one of real chaos, or the wait of a write for the replica of Redis. */
export type Sabotage = ChaosSabotage | 'no-wait';
export const sabotages: readonly Sabotage[] = [...ofChaos, 'no-wait'];

/** Returns the protection that the code of a process lacks; the others are of servers. */
export const inProcess = (sabotage: Sabotage | undefined): ChaosSabotage | undefined =>
  ofChaos.find((name) => name === sabotage);
