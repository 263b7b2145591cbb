import { InMemoryRunner, LlmAgent, TruncatingContextCompactor } from '@agentmesh/agent';
import { type Mesh, startRun } from '@agentmesh/mesh';
import { keys as keysOf } from '@agentmesh/protocol';
import { InMemoryRunner as AdkRunner } from '@google/adk';
import type { Redis } from 'ioredis';
import { instantAdkAgent } from '../instant-adk-agent.ts';
import { InstantLlm, stockPrice } from '../instant-agent.ts';
import { question } from '../model.ts';
import { pastEvent } from './past.ts';
import type { Prompt } from './prompts.ts';

/** Where turns are measured. */
export interface World {
  name: string;
  /** More events than this it is not asked to hold. */
  most: number;
  /** Makes a session with so many past events. Returns its id. */
  makeSession(past: number): Promise<string>;
  turn(sessionId: string): Promise<void>;
}

const userId = 'growth';
const keys = keysOf();

/** Turns over NATS and Redis, in another process. */
export function meshWorld(mesh: Mesh, redis: Redis, prompt: Prompt): World {
  const templates = new Map<number, Promise<string>>();
  let made = 0;
  return {
    name: `agentmesh: durable turn, prompt: ${prompt}`,
    most: Number.POSITIVE_INFINITY,
    async makeSession(past) {
      // Made once, and copied.
      const template = templates.get(past) ?? fillSession(mesh, prompt, past);
      templates.set(past, template);
      const from = { appName: prompt, userId, sessionId: await template };
      if (past >= 10_000) return from.sessionId;
      made += 1;
      const to = { ...from, sessionId: `copy-${past}-${made}` };
      for (const part of ['session', 'events', 'state'] as const)
        await redis.copy(keys[part](from), keys[part](to));
      return to.sessionId;
    },
    async turn(session) {
      const run = await startRun(mesh, { app: prompt, user: userId, session, message: question });
      const events = await Array.fromAsync(run.events);
      if (events.length !== 3) throw new Error(`a turn gave ${events.length} events`);
      await run.end;
    },
  };
}

async function fillSession({ sessions }: Mesh, prompt: Prompt, past: number): Promise<string> {
  const session = await sessions.createSession({ appName: prompt, userId });
  for (let n = 0; n < past; n += 1) {
    await sessions.appendEvent({ session, event: pastEvent(n, `${prompt}_agent`) });
    // The object need not hold what it was filled with.
    session.events.length = 0;
  }
  return session.id;
}

/** The same agent in this process, in memory. */
export function memoryWorld(prompt: Prompt): World {
  const agent = new LlmAgent({
    name: 'agent',
    model: new InstantLlm({ model: 'instant' }),
    tools: [stockPrice],
    ...(prompt === 'none' && { includeContents: 'none' }),
    ...(prompt === 'windowed' && { contextCompactors: [new TruncatingContextCompactor({ threshold: 20 })] }),
  });
  const runner = new InMemoryRunner({ agent, appName: 'growth' });
  return {
    name: `agentmesh: in memory, prompt: ${prompt}`,
    most: Number.POSITIVE_INFINITY,
    async makeSession(past) {
      const session = await runner.sessionService.createSession({ appName: 'growth', userId });
      for (let n = 0; n < past; n += 1) {
        await runner.sessionService.appendEvent({ session, event: pastEvent(n, 'agent') });
        session.events.length = 0;
      }
      return session.id;
    },
    async turn(sessionId) {
      const events = await Array.fromAsync(runner.runAsync({ userId, sessionId, newMessage: question }));
      if (events.length !== 3) throw new Error(`a turn gave ${events.length} events`);
    },
  };
}

/** The same agent in ADK, in memory. */
export function adkWorld(prompt: 'none' | 'full', most: number): World {
  const agent = instantAdkAgent('agent', prompt === 'none' ? 'none' : 'default');
  const runner = new AdkRunner({ agent, appName: 'growth' });
  return {
    name: `ADK: in memory, prompt: ${prompt}`,
    most,
    async makeSession(past) {
      const { sessionService } = runner;
      const session = await sessionService.createSession({ appName: 'growth', userId });
      for (let n = 0; n < past; n += 1) {
        await sessionService.appendEvent({ session, event: pastEvent(n, 'agent') as never });
        session.events.length = 0;
      }
      return session.id;
    },
    async turn(sessionId) {
      const events = await Array.fromAsync(runner.runAsync({ userId, sessionId, newMessage: question }));
      if (events.length !== 3) throw new Error(`a turn of ADK gave ${events.length} events`);
    },
  };
}
