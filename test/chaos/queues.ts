import { subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { connect } from '@nats-io/transport-node';
import { agentNames } from './agents.ts';
import type { Login } from './field.ts';

const { workStream, workConsumer } = subjects();
const runStream = workStream('run');

interface ConsumerInfo {
  num_pending: number;
  num_ack_pending: number;
  delivered: { consumer_seq: number };
}

export interface QueueState {
  agent: string;
  /** The number of commands that were not delivered yet. */
  waiting: number;
  /** The number of commands that were delivered and not acknowledged. */
  unacknowledged: number;
  /** The number of deliveries. */
  delivered: number;
}

/** The agents' work queues, seen from outside. */
export interface Queues extends AsyncDisposable {
  states(): Promise<QueueState[]>;
  /**
   * Returns the number of acknowledged commands that are still in the stream: a killed server may forget that
   * it removed them.
   */
  kept(): Promise<number>;
}

function connectAs(url: string, login: Login, timeout = 20_000) {
  const inboxPrefix = subjects().inboxPrefix(login.user);
  return connect({ servers: url.split(','), ...login, inboxPrefix, timeout });
}

/** Returns the name of the server that leads the stream of runs; undefined while there is no leader. */
export async function leaderOf(url: string, login: Login): Promise<string | undefined> {
  const connection = await connectAs(url, login, 1_000).catch(() => undefined);
  if (!connection) return undefined;
  try {
    const answer = await connection.request(`$JS.API.STREAM.INFO.${runStream}`, '', { timeout: 1_000 });
    return answer.json<{ cluster?: { leader?: string } }>().cluster?.leader;
  } catch {
    return undefined;
  } finally {
    await connection.close();
  }
}

export async function openQueues(url: string, login: Login): Promise<Queues> {
  const connection = await connectAs(url, login);
  const info = async <T>(of: string): Promise<T> => {
    let answer: T | undefined;
    // A cluster that has just lost a server takes some time to answer.
    const ask = async () => {
      const reply = await connection.request(`$JS.API.${of}`, '', { timeout: 2_000 }).catch(() => undefined);
      answer = reply?.json<T & { error?: unknown }>();
      return answer !== undefined && !(answer as { error?: unknown }).error;
    };
    await until(ask, { what: `NATS to tell ${of}`, timeoutMs: 30_000 });
    return answer as T;
  };
  return {
    async states() {
      return await Promise.all(
        agentNames.map(async (agent) => {
          const { num_pending, num_ack_pending, delivered } = await info<ConsumerInfo>(
            `CONSUMER.INFO.${runStream}.${workConsumer(agent)}`,
          );
          return {
            agent,
            waiting: num_pending,
            unacknowledged: num_ack_pending,
            delivered: delivered.consumer_seq,
          };
        }),
      );
    },
    async kept() {
      return (await info<{ state: { messages: number } }>(`STREAM.INFO.${runStream}`)).state.messages;
    },
    [Symbol.asyncDispose]: () => connection.close(),
  };
}
