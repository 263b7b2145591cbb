import type { Canary } from '@agentmesh/protocol';
import type { Visit } from '../clients/visit.ts';
import type { Part, Replicas } from '../stage/place.ts';

/** A canary of an agent that ends in the course of the traffic. */
export interface ScenarioCanary extends Pick<Canary, 'version' | 'percent' | 'pinned'> {
  part: Part;
  /** The time of its end, in ms after the beginning of the traffic. */
  endsAtMs: number;
}

/** The traffic of a history, and the processes that work on it. */
export interface Scenario {
  name: string;
  replicas: Replicas;
  /** The visits, which are made at once. */
  visits: readonly Visit[];
  /** A part whose processes are replaced by a new version during the traffic. */
  rolls?: Part;
  /** A canary: the last place of its part has its version from the beginning. */
  canary?: ScenarioCanary;
  /** Whether clients send requests of HTTP to real gateways; else they call what the routes call. */
  hasHttp?: boolean;
  /** The least share of the messages whose runs must be completed; default 1. */
  leastShare?: number;
}
