import { InMemoryRunner, LlmAgent } from '@agentmesh/agent';
import { type Mesh, startRun } from '@agentmesh/mesh';
import { answerSchema, header } from '@agentmesh/protocol';
import { InMemoryRunner as AdkRunner } from '@google/adk';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { Floor } from './floor/floor.ts';
import { instantAdkAgent } from './instant-adk-agent.ts';
import { InstantLlm, stockPrice } from './instant-agent.ts';
import { question, stepsQuestion } from './model.ts';

export interface Case {
  /** The name by which goals refer to the case, together with {@link inFlight}. */
  id: string;
  name: string;
  inFlight: number;
  /** The number of repetitions in one round. */
  count: number;
  /** Returns the time of the repetition in ms, where it is not the time of the call. */
  once(): Promise<void | number>;
}

const appName = 'bench_app';
/** The number of past turns in a long session. */
export const pastTurns = 500;

/**
 * Makes the cases of the benchmark. A case whose sessions need a past makes it when it is first used.
 */
export function benchCases(mesh: Mesh, raw: NatsConnection, floor: Floor): Case[] {
  return [
    ...requestCases(mesh, raw, floor),
    ...durableCases(mesh, floor),
    ...inProcessCases(),
    ...longSessionCases(mesh),
  ];
}

/** Makes the cases of a plain NATS request, of an ask of an agent that returns the text, and of a call of a tool. */
function requestCases(mesh: Mesh, raw: NatsConnection, floor: Floor): Case[] {
  const text = 'x'.repeat(200);
  const payload = JSON.stringify({ message: text });
  const subject = mesh.subjects.agentAsk('echo_agent');
  const request = async () => {
    const reply = await raw.request('bench.raw', payload, { timeout: 5_000 });
    if (reply.data.length !== payload.length) throw new Error('a raw reply is not the request');
  };
  const ask = async () => assertEcho(await raw.request(subject, payload, { timeout: 5_000 }), text);
  const call = async () => {
    const frames = mesh.bus.request(mesh.subjects.toolCall('get_stock_price'), { args: { ticker: 'GOOG' } });
    const last = (await Array.fromAsync(frames)).at(-1);
    if (last?.type !== 'result') throw new Error(`a call of a tool gave ${JSON.stringify(last)}`);
  };
  return [1, 64].flatMap((inFlight) => [
    {
      id: 'raw',
      name: 'request and reply of nats.js',
      inFlight,
      count: inFlight === 1 ? 500 : 5_000,
      once: request,
    },
    {
      id: 'ask',
      name: 'ask of an agent (2 events in Redis)',
      inFlight,
      count: inFlight === 1 ? 300 : 2_000,
      once: ask,
    },
    {
      id: 'floor-ask',
      name: 'floor of an ask',
      inFlight,
      count: inFlight === 1 ? 300 : 2_000,
      once: floor.ask,
    },
    ...(inFlight === 1
      ? [{ id: 'tool', name: 'call of a tool in another process', inFlight, count: 300, once: call }]
      : []),
  ]);
}

/**
 * Checks the reply to an ask.
 *
 * @throws Error for a refusal and for any other text, which must not count as answers
 */
function assertEcho(reply: Msg, text: string): void {
  const refusal = reply.headers?.get(header.error);
  if (refusal) throw new Error(`an ask was refused: ${refusal}`);
  const answer = answerSchema.parse(reply.json());
  if (answer.text !== text) throw new Error(`an ask was answered by ${answer.text}`);
}

/** Makes the cases of turns in new sessions over NATS and Redis. */
function durableCases(mesh: Mesh, floor: Floor): Case[] {
  const users = userNames();
  const once = async () => await turnIn(mesh, await newSession(mesh, users()), question, 3);
  const steps = (calls: number) => async () =>
    await turnIn(mesh, await newSession(mesh, users(), 'steps_app'), stepsQuestion(calls), 2 * calls + 1);
  return [
    ...[1, 64].flatMap((inFlight) => [
      {
        id: 'turn',
        name: 'durable turn with a tool call',
        inFlight,
        count: inFlight === 1 ? 200 : 2_000,
        once,
      },
      {
        id: 'floor-turn',
        name: 'floor of a turn',
        inFlight,
        count: inFlight === 1 ? 200 : 2_000,
        once: floor.turn,
      },
    ]),
    { id: 'steps-1', name: 'durable turn with a remote call', inFlight: 1, count: 50, once: steps(1) },
    {
      id: 'steps-11',
      name: 'durable turn with eleven remote calls',
      inFlight: 1,
      count: 20,
      once: steps(11),
    },
    ...[1, 11].map((count) => ({
      ...{ id: `floor-steps-${count}`, name: `floor of ${count} remote calls`, inFlight: 1, count: 50 },
      once: () => floor.steps(count),
    })),
  ];
}

/** Makes the cases of turns in one process, in memory, in new sessions. */
function inProcessCases(): Case[] {
  const agent = new LlmAgent({
    name: 'turn_agent',
    model: new InstantLlm({ model: 'instant' }),
    tools: [stockPrice],
  });
  const runners = {
    memory: new InMemoryRunner({ agent, appName }),
    adk: new AdkRunner({ agent: instantAdkAgent('turn_agent'), appName }),
  };
  const names = { memory: 'InMemoryRunner', adk: "ADK's InMemoryRunner" };
  return (['memory', 'adk'] as const).map((id) => ({
    ...{ id, name: `${names[id]}, new session`, inFlight: 1, count: 500 },
    async once() {
      const { id: sessionId } = await runners[id].sessionService.createSession({ appName, userId: 'bench' });
      await turnInProcess(runners[id], sessionId);
    },
  }));
}

/** Makes the cases of turns in sessions that already have {@link pastTurns} turns. Their first use makes the past. */
function longSessionCases(mesh: Mesh): Case[] {
  const adk = new AdkRunner({ agent: instantAdkAgent('turn_agent'), appName });
  let past: Promise<{ durable: Place; adkSession: string }> | undefined;
  const makePast = async () => {
    const { id: adkSession } = await adk.sessionService.createSession({ appName, userId: 'bench' });
    const durable = await newSession(mesh, 'long');
    for (let turn = 0; turn < pastTurns; turn += 1) {
      await turnIn(mesh, durable, question, 3);
      await turnInProcess(adk, adkSession);
    }
    return { durable, adkSession };
  };
  const sessions = () => (past ??= makePast());
  return [
    {
      ...{ id: 'long-turn', name: `durable turn after ${pastTurns} turns`, inFlight: 1, count: 50 },
      once: async () => await turnIn(mesh, (await sessions()).durable, question, 3),
    },
    {
      ...{ id: 'long-adk', name: `ADK's InMemoryRunner after ${pastTurns} turns`, inFlight: 1, count: 20 },
      once: async () => await turnInProcess(adk, (await sessions()).adkSession),
    },
  ];
}

interface Place {
  app: string;
  user: string;
  session: string;
}

async function newSession(mesh: Mesh, user: string, app = appName): Promise<Place> {
  const { id } = await mesh.sessions.createSession({ appName: app, userId: user });
  return { app, user, session: id };
}

/** Opens a session for durable turns, and returns a function that carries out the next one. */
export async function durableTurn(mesh: Mesh, user: string): Promise<() => Promise<void>> {
  const place = await newSession(mesh, user);
  return () => turnIn(mesh, place, question, 3);
}

/** Carries out a durable turn. @throws Error when it gives another number of events */
async function turnIn(mesh: Mesh, place: Place, message: typeof question, expected: number): Promise<void> {
  const run = await startRun(mesh, { ...place, message });
  const events = await Array.fromAsync(run.events);
  if (events.length !== expected) throw new Error(`a turn gave ${events.length} events, not ${expected}`);
}

/** Carries out a turn in this process. @throws Error when it gives another number of events */
export async function turnInProcess(
  runner: Pick<InMemoryRunner, 'runAsync'> | Pick<AdkRunner, 'runAsync'>,
  sessionId: string,
  userId = 'bench',
): Promise<void> {
  let events = 0;
  for await (const _event of runner.runAsync({ userId, sessionId, newMessage: question })) events += 1;
  if (events !== 3) throw new Error(`a turn in one process gave ${events} events`);
}

/**
 * Returns a function that names one user after the other. A user has a share of the running work, so there are
 * more users than turns in flight.
 */
function userNames(): () => string {
  let turns = 0;
  return () => {
    turns += 1;
    return `bench-${turns % 100}`;
  };
}
