import { type Mesh, startRun } from '@agentmesh/mesh';
import { answerSchema, header } from '@agentmesh/protocol';
import { InMemoryRunner as AdkRunner } from '@google/adk';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { instantAdkAgent } from './instant-adk-agent.ts';
import { question } from './model.ts';

export interface Case {
  name: string;
  inFlight: number;
  /** The number of repetitions in one round. */
  count: number;
  once(): Promise<void>;
}

/** Makes the cases of a plain NATS request and of an ask of an agent that returns the text. */
export function askCases(mesh: Mesh, raw: NatsConnection): Case[] {
  const text = 'x'.repeat(200);
  const payload = JSON.stringify({ message: text });
  const subject = mesh.subjects.agentAsk('echo_agent');
  const rawOnce = async () => {
    const reply = await raw.request('bench.raw', payload, { timeout: 5_000 });
    if (reply.data.length !== payload.length) throw new Error('a raw reply is not the request');
  };
  const askOnce = async () => assertEcho(await raw.request(subject, payload, { timeout: 5_000 }), text);
  return [1, 64].flatMap((inFlight) => [
    { name: 'raw nats.js request/reply', inFlight, count: inFlight === 1 ? 500 : 5_000, once: rawOnce },
    {
      name: 'ask of an echo agent (2 events in Redis)',
      inFlight,
      count: inFlight === 1 ? 300 : 2_000,
      once: askOnce,
    },
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

/**
 * Makes the cases of a turn with one tool call: durable over NATS and Redis, and in one process in memory.
 */
export function turnCases(mesh: Mesh): Case[] {
  let turns = 0;
  const meshOnce = async () => {
    // As many users as there are turns at a time: one user has a share of the slots.
    const user = `bench-${turns++ % 64}`;
    const { id } = await mesh.sessions.createSession({ appName: 'bench_app', userId: user });
    const run = await startRun(mesh, { app: 'bench_app', user, session: id, message: question });
    const events = await Array.fromAsync(run.events);
    if (events.length !== 3) throw new Error(`a turn gave ${events.length} events`);
  };
  const adk = new AdkRunner({ agent: instantAdkAgent('turn_agent'), appName: 'bench_app' });
  const adkOnce = async () => {
    const user = 'bench';
    const { id } = await adk.sessionService.createSession({ appName: 'bench_app', userId: user });
    const events = await Array.fromAsync(adk.runAsync({ userId: user, sessionId: id, newMessage: question }));
    if (events.length !== 3) throw new Error(`a turn of ADK gave ${events.length} events`);
  };
  return [1, 16, 64].flatMap((inFlight) => [
    {
      name: 'agentmesh: durable turn, NATS and Redis',
      inFlight,
      count: inFlight === 1 ? 200 : 1_000,
      once: meshOnce,
    },
    {
      name: 'ADK: turn in one process, in memory',
      inFlight,
      count: inFlight === 1 ? 200 : 1_000,
      once: adkOnce,
    },
  ]);
}
