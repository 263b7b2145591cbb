import type { Visit } from '../clients/visit.ts';
import type { Part, Replicas } from '../stage/place.ts';

/** The traffic of a history, and the processes that work on it. */
export interface Scenario {
  name: string;
  replicas: Replicas;
  /** The visits, which are made at once. */
  visits: readonly Visit[];
  /** A part whose processes are replaced by a new version during the traffic. */
  rolls?: Part;
  /** Whether clients send requests of HTTP to real gateways; else they call what the routes call. */
  hasHttp?: boolean;
  /** The least share of the messages whose runs must be completed; default 1. */
  leastShare?: number;
}
