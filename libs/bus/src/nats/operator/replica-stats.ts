import type { CountedCalls } from '../../bus/bus.ts';

/** One replica that is up, with its counters since it started. */
export interface ReplicaStats {
  replica: string;
  /** The version of its definition. */
  version?: string;
  /** Absent for a service in another language that does not count. */
  load?: ReplicaLoad;
}

/**
 * Returns the version of a service: that of its card while a replica has it or none is up, else the versions of the
 * replicas. The card is that of the last start, also of a replica that is gone.
 */
export function shownVersion(ofCard: string, replicas: readonly Pick<ReplicaStats, 'version'>[]): string {
  const running = [...new Set(replicas.flatMap(({ version }) => version ?? []))].sort();
  return running.length === 0 || running.includes(ofCard) ? ofCard : running.join(', ');
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
