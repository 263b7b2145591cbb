import type { Authenticator } from './authenticator.ts';
import { anyCaller } from './caller.ts';

/** Lets every request in. Only for a gateway that other machines do not reach. */
export const byNone: Authenticator = {
  way: 'none',
  wants: 'anything',
  authenticate: async () => anyCaller,
};
