import { header, parse, type Subjects, subjects } from '@agentmesh/protocol';
import { headers, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { dial } from '../wire/dial.ts';
import { fromNats, isNobodyThere } from '../wire/nats-errors.ts';
import type { OperatorOptions } from './stored-cards.ts';

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
}

/** The counters of services, for an operator. */
export interface ServiceStats extends AsyncDisposable {
  /** Returns all replicas of a service that answer a ping (`$SRV.PING`, ADR-32 of NATS). */
  of(service: string): Promise<ReplicaStats[]>;
}

/** The longest wait for the answers of all replicas, and for one more answer, in ms. */
const longestMs = 1_000;
const stallMs = 300;

const pingSchema = z.object({ id: z.string(), version: z.string().optional() });
/** The names of endpoints that stand for queues. */
const workEndpoints = ['run', 'job'];

const statsSchema = z.object({
  started: z.string(),
  endpoints: z.array(
    z.object({ name: z.string().default(''), num_requests: z.number(), num_errors: z.number() }),
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
    of: (service) => readReplicas(connection, names, service),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

/** Returns all replicas of a service that answer a ping. */
export async function readReplicas(
  connection: NatsConnection,
  names: Subjects,
  service: string,
): Promise<ReplicaStats[]> {
  const answers = await ask(connection, `$SRV.PING.${names.shownAs(service)}`);
  const replicas = answers.map((answer) => {
    const { id, version } = parse(pingSchema, answer.json(), 'the answer to a ping');
    const load = loadIn(answer);
    return { replica: id, ...(version !== undefined && { version }), ...(load && { load }) };
  });
  return replicas.sort((a, b) => (a.replica < b.replica ? -1 : 1));
}

/** Returns the answers of all replicas. */
async function ask(connection: NatsConnection, subject: string): Promise<Msg[]> {
  const asked = headers();
  asked.set(header.accept, 'stats');
  const options = { strategy: 'stall' as const, maxWait: longestMs, stall: stallMs, headers: asked };
  const answers: Msg[] = [];
  try {
    for await (const message of await connection.requestMany(subject, undefined, options))
      answers.push(message);
  } catch (thrown) {
    if (!isNobodyThere(thrown)) throw fromNats(thrown, 'ask for replicas');
  }
  return answers;
}

function loadIn(answer: Msg): ReplicaLoad | undefined {
  const { success, data } = statsSchema.safeParse(answer.json());
  if (!success) return undefined;
  const { started, endpoints } = data;
  const countOf = (isWanted: (name: string) => boolean) =>
    endpoints.reduce((total, { name, num_requests }) => total + (isWanted(name) ? num_requests : 0), 0);
  const isWork = (name: string) => workEndpoints.includes(name);
  return {
    started,
    requests: countOf((name) => !isWork(name)),
    work: countOf(isWork),
    errors: endpoints.reduce((total, { num_errors }) => total + num_errors, 0),
  };
}
