import { getFunctionCalls } from '@agentmesh/agent';
import type { Event, SessionRef } from '@agentmesh/protocol';
import { type Random, seededRandom } from '@agentmesh/testing';
import { isEnd } from './check/log.ts';
import { type Attempt, ChaosClient, type ComeBack } from './client.ts';
import { type OpKind, opKinds, wordsOf } from './model.ts';

export interface TrafficOptions {
  seed: number;
  /** The number of operations. */
  runs: number;
  clients: number;
  /** The number of messages that a client sends to one session at the same time. */
  atOnce: number;
  gateways: readonly string[];
  comeBack: ComeBack;
  /** The longest time of one operation with all its attempts, in ms. */
  patienceMs: number;
  /** Stops all clients. */
  signal?: AbortSignal | undefined;
  onDone?: () => void;
}

/** One operation of a client, and its result. */
export interface Operation {
  id: string;
  kind: OpKind;
  /** The attempts. As far as the client knows, only the last one may have been accepted. */
  attempts: Attempt[];
  done: boolean;
  ms: number;
}

export interface Traffic {
  operations: Operation[];
  /** All sessions that the clients made. */
  sessions: Map<string, SessionRef>;
}

/** Sends the operations. Each client sends one message after the other, some of them in the same session. */
export async function driveTraffic(options: TrafficOptions): Promise<Traffic> {
  const { seed, runs, clients, atOnce, signal } = options;
  const traffic: Traffic = { operations: [], sessions: new Map() };
  let begun = 0;
  const drive = async (number: number) => {
    const random = seededRandom(`${seed}/client ${number}`);
    while (begun < runs && !signal?.aborted) {
      const session: Order['session'] = { ref: undefined };
      for (let messages = random.integer(1, 4); messages > 0 && begun < runs; messages -= 1) {
        const count = Math.min(atOnce, runs - begun);
        const ids = Array.from({ length: count }, () => `${number}-${begun++}`);
        await Promise.all(
          ids.map((id) => operate(options, traffic, { id, user: `u${number}`, session, random })),
        );
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, number) => drive(number)));
  return traffic;
}

interface Order {
  id: string;
  user: string;
  /**
   * The session that the next message shares. After a failed message it is empty, because the message may
   * have been accepted.
   */
  session: { ref: Promise<SessionRef> | undefined };
  random: Random;
}

async function operate(options: TrafficOptions, traffic: Traffic, order: Order): Promise<void> {
  const { id, user, session, random } = order;
  const kind = random.pick(opKinds);
  const operation: Operation = { id, kind, attempts: [], done: false, ms: 0 };
  traffic.operations.push(operation);
  const patience = AbortSignal.timeout(options.patienceMs);
  const signal = options.signal ? AbortSignal.any([options.signal, patience]) : patience;
  const isOver = (events: readonly Event[], invocationId: string) =>
    lastWords(events, invocationId) >= wordsNeeded(events);
  const client = new ChaosClient({ ...options, random, isOver, signal });
  const at = performance.now();
  try {
    while (!operation.done) {
      session.ref ??= client.createSession(user);
      const ref = await session.ref;
      traffic.sessions.set(ref.sessionId, ref);
      const attempt: Attempt = { ...ref, view: { seen: [], finished: false, reconnects: 0 } };
      operation.attempts.push(attempt);
      await client.run(attempt, wordsOf(kind, id));
      operation.done = attempt.invocationId !== undefined;
      if (!operation.done) session.ref = undefined;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    session.ref = undefined;
  }
  operation.ms = performance.now() - at;
  options.onDone?.();
}

/** Returns the number of last answers that a run has: parallel agents give one each. */
function wordsNeeded(events: readonly Event[]): number {
  const isFan = events.some((event) =>
    getFunctionCalls(event).some(({ args }) => args?.agentName === 'fan_agent'),
  );
  const failed = events.some(({ errorCode }) => errorCode !== undefined);
  return isFan && !failed ? 2 : 1;
}

function lastWords(events: readonly Event[], invocationId: string): number {
  return events.filter((event) => event.invocationId === invocationId && isEnd(event)).length;
}
