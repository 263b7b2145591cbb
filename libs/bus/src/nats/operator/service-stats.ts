import { parse, subjects } from '@agentmesh/protocol';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { dial } from '../wire/dial.ts';
import { fromNats, isNobodyThere } from '../wire/nats-errors.ts';
import type { OperatorOptions } from './stored-cards.ts';

/** One replica that is up, with its counters since it started. */
export interface ReplicaStats {
  replica: string;
  /** Absent where the accounts of NATS let the operator ask for replicas, and not for their counters. */
  load?: ReplicaLoad;
}

export interface ReplicaLoad {
  /** The time of the start, ISO 8601. */
  started: string;
  requests: number;
  errors: number;
  /** The last error; '' without one. */
  lastError: string;
}

/** The counters of services, for an operator. */
export interface ServiceStats extends AsyncDisposable {
  /** Returns all replicas of a service that answer `$SRV.PING` and `$SRV.STATS` (ADR-32 of NATS). */
  of(service: string): Promise<ReplicaStats[]>;
}

/** The longest wait for the answers of all replicas, and for one more answer, in ms. */
const longestMs = 1_000;
const stallMs = 300;

const pingSchema = z.object({ id: z.string() });
const statsSchema = pingSchema.extend({
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
    async of(service) {
      const name = names.shownAs(service);
      const [pings, loads] = await Promise.all([
        ask(connection, `$SRV.PING.${name}`),
        ask(connection, `$SRV.STATS.${name}`),
      ]);
      const loadOf = new Map(loads.map(readLoad));
      const ids = pings.map((message) => parse(pingSchema, message.json(), 'the answer to a ping').id);
      return ids.sort().map((replica) => {
        const load = loadOf.get(replica);
        return { replica, ...(load && { load }) };
      });
    },
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

/** Returns the answers of all replicas. */
async function ask(connection: NatsConnection, subject: string): Promise<Msg[]> {
  const options = { strategy: 'stall' as const, maxWait: longestMs, stall: stallMs };
  const answers: Msg[] = [];
  try {
    for await (const message of await connection.requestMany(subject, undefined, options))
      answers.push(message);
  } catch (thrown) {
    if (!isNobodyThere(thrown)) throw fromNats(thrown, 'ask for replicas');
  }
  return answers;
}

function readLoad(message: Msg): [string, ReplicaLoad] {
  const { id, started, endpoints } = parse(statsSchema, message.json(), `the counters on ${message.subject}`);
  const sum = (count: (endpoint: (typeof endpoints)[number]) => number) =>
    endpoints.reduce((total, endpoint) => total + count(endpoint), 0);
  return [
    id,
    {
      started,
      requests: sum(({ num_requests }) => num_requests),
      errors: sum(({ num_errors }) => num_errors),
      lastError: endpoints.findLast(({ last_error }) => last_error !== '')?.last_error ?? '',
    },
  ];
}
