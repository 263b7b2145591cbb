import { type Mesh, startRun } from '@agentmesh/mesh';
import { keys as keysOf } from '@agentmesh/protocol';
import type { Redis } from 'ioredis';
import { question } from '../model.ts';
import { pastEvent } from './past.ts';
import type { Prompt } from './prompts.ts';
import type { World } from './world.ts';

const userId = 'growth';
const keys = keysOf();

/** Makes a world whose turns run over NATS and Redis, in another process. */
export function meshWorld(mesh: Mesh, redis: Redis, prompt: Prompt): World {
  const templates = new Map<number, Promise<string>>();
  let made = 0;
  return {
    name: `agentmesh: durable turn, prompt: ${prompt}`,
    isSlow: false,
    async makeSession(past) {
      // The template is made once and then copied.
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
      const at = performance.now();
      const run = await startRun(mesh, { app: prompt, user: userId, session, message: question });
      const events = await Array.fromAsync(run.events);
      if (events.length !== 3) throw new Error(`a turn gave ${events.length} events`);
      await run.end;
      return performance.now() - at;
    },
  };
}

async function fillSession({ sessions }: Mesh, prompt: Prompt, past: number): Promise<string> {
  const session = await sessions.createSession({ appName: prompt, userId });
  for (let n = 0; n < past; n += 1) {
    await sessions.appendEvent({ session, event: pastEvent(n, `${prompt}_agent`) });
    // The object does not need its events any more.
    session.events.length = 0;
  }
  return session.id;
}
