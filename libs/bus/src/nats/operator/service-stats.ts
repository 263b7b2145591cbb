import { subjects } from '@agentmesh/protocol';
import { dial } from '../wire/dial.ts';
import { readReplicas } from './read-replicas.ts';
import type { ReplicaStats } from './replica-stats.ts';
import type { OperatorOptions } from './stored-cards.ts';

/** The counters of services, for an operator. */
export interface ServiceStats extends AsyncDisposable {
  /** Returns all replicas of a service that answer a ping (`$SRV.PING`, ADR-32 of NATS). */
  of(service: string): Promise<ReplicaStats[]>;
}

/**
 * Opens the counters of services, as the operator.
 *
 * @throws MeshError `unavailable` when nothing answers; `unauthenticated` for the credentials
 */
export async function openServiceStats(options: OperatorOptions): Promise<ServiceStats> {
  const names = subjects(options.namespace);
  const connection = await dial(options, 'stats', names.inboxPrefix('provision'), options.connectTimeoutMs);
  return {
    of: (service) => readReplicas(connection, names, service),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}
