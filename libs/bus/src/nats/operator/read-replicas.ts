import { header, parse, type Subjects } from '@agentmesh/protocol';
import { headers, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { fromNats, isNobodyThere } from '../wire/nats-errors.ts';
import type { ReplicaLoad, ReplicaStats } from './replica-stats.ts';

/** The longest wait for the answers of all replicas, and for one more answer, in ms. */
const longestMs = 1_000;
const stallMs = 300;

const pingSchema = z.object({ id: z.string(), version: z.string().optional() });
/** The names of endpoints that stand for queues. */
const workEndpoints = ['run', 'job'];

/** The largest number of called services that are read from one replica. */
const mostCalls = 200;
const callsSchema = z
  .array(
    z.object({
      to: z.string().max(200),
      kind: z.enum(['agent', 'tool']),
      how: z.enum(['call', 'transfer']),
      count: z.number(),
      errors: z.number(),
    }),
  )
  .max(mostCalls);

const statsSchema = z.object({
  started: z.string(),
  endpoints: z.array(
    z.object({ name: z.string().default(''), num_requests: z.number(), num_errors: z.number() }),
  ),
  // Programs without agentmesh count none.
  calls: callsSchema.default([]).catch([]),
});

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
  const { started, endpoints, calls } = data;
  const countOf = (isWanted: (name: string) => boolean) =>
    endpoints.reduce((total, { name, num_requests }) => total + (isWanted(name) ? num_requests : 0), 0);
  const isWork = (name: string) => workEndpoints.includes(name);
  return {
    started,
    requests: countOf((name) => !isWork(name)),
    work: countOf(isWork),
    errors: endpoints.reduce((total, { num_errors }) => total + num_errors, 0),
    calls,
  };
}
