import type { CountedCalls } from '../../bus/bus.ts';

/** One replica that is up, with its counters since it started. */
export interface ReplicaStats {
  replica: string;
  /** The version of its definition. */
  version?: string;
  /** Absent for a service in another language that does not count. */
  load?: ReplicaLoad;
}

export interface ReplicaLoad {
  /** The time of the start, ISO 8601. */
  started: string;
  /** The number of asks and calls. */
  requests: number;
  /** The number of runs of an agent, or of jobs of a long-running tool, that are done. */
  work: number;
  /** The number of requests that were answered with an error, and of failed deliveries of runs and jobs. */
  errors: number;
  /** Its calls of other services; 200 at most. */
  calls: CountedCalls[];
}
