import { openWorkStreams } from '@agentmesh/bus';
import { provisionUser } from '@agentmesh/mesh';
import { subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import type { DeadLetter, StreamRest } from './check/history.ts';
import { connectAs, type Login } from './field/logins.ts';

const { workStream, deadStream, claimBucket } = subjects();
const runStream = workStream('run');
const workStreams = (['run', 'operation', 'job'] as const).map(workStream);

interface ConsumerInfo {
  num_ack_pending: number;
}

interface StreamInfo {
  state: { messages: number; first_seq: number; last_seq: number; subjects?: Record<string, number> };
}

/** The work queues and buckets, seen from outside. */
export interface Queues extends AsyncDisposable {
  /** Reads what each stream of work holds now. */
  states(): Promise<StreamRest[]>;
  deadLetters(): Promise<DeadLetter[]>;
  /** Returns the names of the large payloads of work that are stored. */
  objects(): Promise<string[]>;
  /** Removes the large payloads to which nothing leads, as an operator's sweep does. Returns their number. */
  removeLostPayloads(): Promise<number>;
}

/** Returns the name of the server that leads the stream of runs; undefined while there is no leader. */
export async function leaderOf(url: string, login: Login): Promise<string | undefined> {
  const connection = await connectAs(url, provisionUser, login, { timeout: 1_000 }).catch(() => undefined);
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

/** Asks the API of JetStream. An answer with an error is no answer. */
type Ask = <T>(of: string, request?: object) => Promise<T>;

export async function openQueues(url: string, login: Login): Promise<Queues> {
  const connection = await connectAs(url, provisionUser, login, { timeout: 20_000 });
  const ask: Ask = async <T>(of: string, request?: object) => {
    let answer: T | undefined;
    const body = request ? JSON.stringify(request) : '';
    // A cluster that has just lost a server takes some time to answer.
    const tryOnce = async () => {
      const reply = await connection
        .request(`$JS.API.${of}`, body, { timeout: 2_000 })
        .catch(() => undefined);
      answer = reply?.json<T & { error?: unknown }>();
      return answer !== undefined && !(answer as { error?: unknown }).error;
    };
    await until(tryOnce, { what: `NATS to tell ${of}`, timeoutMs: 30_000 });
    return answer as T;
  };
  return {
    states: () => Promise.all(workStreams.map((name) => stateOf(ask, name))),
    deadLetters: () => readDeadLetters(ask),
    objects: () => readObjects(ask),
    async removeLostPayloads() {
      await using streams = await openWorkStreams({ url, ...login });
      return await streams.removeLostPayloads(0);
    },
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

async function stateOf(ask: Ask, name: string): Promise<StreamRest> {
  const { state } = await ask<StreamInfo>(`STREAM.INFO.${name}`);
  const consumers: ConsumerInfo[] = [];
  for (let total = 1; consumers.length < total; ) {
    const page = await ask<{ total: number; consumers?: ConsumerInfo[] }>(`CONSUMER.LIST.${name}`, {
      offset: consumers.length,
    });
    total = page.consumers?.length ? page.total : 0;
    consumers.push(...(page.consumers ?? []));
  }
  const ackPending = sum(consumers.map(({ num_ack_pending }) => num_ack_pending));
  return { name, messages: state.messages - ackPending, ackPending };
}

async function readDeadLetters(ask: Ask): Promise<DeadLetter[]> {
  const { state } = await ask<StreamInfo>(`STREAM.INFO.${deadStream}`);
  const letters: DeadLetter[] = [];
  for (let seq = state.first_seq; state.messages > 0 && seq <= state.last_seq; seq += 1) {
    const { message } = await ask<{ message: { data: string } }>(`STREAM.MSG.GET.${deadStream}`, { seq });
    const letter = JSON.parse(Buffer.from(message.data, 'base64').toString()) as Letter;
    const { subject, error, payload } = letter;
    letters.push({ subject, ...error, payload: JSON.stringify(payload) });
  }
  return letters;
}

interface Letter {
  subject: string;
  payload: unknown;
  error: { code: string; message: string };
}

/**
 * Finds the stored payloads by their pieces: the entry of a removed object stays in its bucket, its pieces do
 * not. Payloads of news stay until their bucket drops them.
 */
async function readObjects(ask: Ask): Promise<string[]> {
  const bucket = claimBucket('work');
  const { state } = await ask<StreamInfo>(`STREAM.INFO.OBJ_${bucket}`, {
    subjects_filter: `$O.${bucket}.C.>`,
  });
  return Object.keys(state.subjects ?? {}).map((subject) => `${bucket}/${subject.split('.').at(-1)}`);
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
