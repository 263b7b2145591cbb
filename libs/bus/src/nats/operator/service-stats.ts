import { parse, subjects } from '@agentmesh/protocol';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { dial } from '../wire/dial.ts';
import { fromNats, isNobodyThere } from '../wire/nats-errors.ts';
import type { OperatorOptions } from './stored-cards.ts';

/** The counters of one replica since it started. */
export interface ReplicaStats {
  replica: string;
  /** The time of the start, ISO 8601. */
  started: string;
  requests: number;
  errors: number;
  /** The last error; '' without one. */
  lastError: string;
}

/** The counters of services, for an operator. */
export interface ServiceStats extends AsyncDisposable {
  /** Returns the counters of all replicas of a service that answer, by `$SRV.STATS` (ADR-32 of NATS). */
  of(service: string): Promise<ReplicaStats[]>;
}

/** The longest wait for the answers of all replicas, and for one more answer, in ms. */
const longestMs = 1_000;
const stallMs = 300;

const statsSchema = z.object({
  id: z.string(),
  started: z.string(),
  endpoints: z.array(
    z.object({ num_requests: z.number(), num_errors: z.number(), last_error: z.string().default('') }),
  ),
});

/**
 * Opens the counters of services, as the operator.
 *
 * @throws MeshError `unavailable` when nothing answers; `unauthenticated` for the credentials
 */
export async function openServiceStats(options: OperatorOptions): Promise<ServiceStats> {
  const names = subjects(options.namespace);
  const connection = await dial(options, 'stats', names.inboxPrefix('provision'), options.connectTimeoutMs);
  return {
    of: (service) => ask(connection, `$SRV.STATS.${names.shownAs(service)}`),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

async function ask(connection: NatsConnection, subject: string): Promise<ReplicaStats[]> {
  const replicas: ReplicaStats[] = [];
  try {
    const options = { strategy: 'stall' as const, maxWait: longestMs, stall: stallMs };
    for await (const message of await connection.requestMany(subject, undefined, options))
      replicas.push(readStats(message));
  } catch (thrown) {
    if (!isNobodyThere(thrown)) throw fromNats(thrown, 'ask for counters');
  }
  return replicas.sort((a, b) => a.replica.localeCompare(b.replica));
}

function readStats(message: Msg): ReplicaStats {
  const { id, started, endpoints } = parse(statsSchema, message.json(), `the counters on ${message.subject}`);
  const sum = (count: (endpoint: (typeof endpoints)[number]) => number) =>
    endpoints.reduce((total, endpoint) => total + count(endpoint), 0);
  return {
    replica: id,
    started,
    requests: sum(({ num_requests }) => num_requests),
    errors: sum(({ num_errors }) => num_errors),
    lastError: endpoints.findLast(({ last_error }) => last_error !== '')?.last_error ?? '',
  };
}
