import { type Mesh, startRun } from '@agentmesh/mesh';
import { InMemoryRunner as AdkRunner } from '@google/adk';
import type { NatsConnection } from '@nats-io/transport-node';
import { instantAdkAgent } from './instant-adk-agent.ts';
import { question } from './model.ts';

export interface Case {
  name: string;
  inFlight: number;
  /** How often it is done in one round. */
  count: number;
  once(): Promise<void>;
}

/** The smallest thing NATS can do, and an ask of an agent that only says back what it heard. */
export function askCases(mesh: Mesh, raw: NatsConnection): Case[] {
  const payload = JSON.stringify({ message: 'x'.repeat(200) });
  const subject = mesh.subjects.agentAsk('echo_agent');
  const rawOnce = async () => void (await raw.request('bench.raw', payload, { timeout: 5_000 }));
  const askOnce = async () => void (await raw.request(subject, payload, { timeout: 5_000 }));
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

/** A turn with one tool call: durable over NATS and Redis, and in one process in memory. */
export function turnCases(mesh: Mesh): Case[] {
  const user = 'bench';
  const meshOnce = async () => {
    const { id } = await mesh.sessions.createSession({ appName: 'bench_app', userId: user });
    const run = await startRun(mesh, { app: 'bench_app', user, session: id, message: question });
    const events = await Array.fromAsync(run.events);
    if (events.length !== 3) throw new Error(`a turn gave ${events.length} events`);
  };
  const adk = new AdkRunner({ agent: instantAdkAgent('turn_agent'), appName: 'bench_app' });
  const adkOnce = async () => {
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
