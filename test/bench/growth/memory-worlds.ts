import { InMemoryRunner, LlmAgent, TruncatingContextCompactor } from '@agentmesh/agent';
import { InMemoryRunner as AdkRunner } from '@google/adk';
import { instantAdkAgent } from '../instant-adk-agent.ts';
import { InstantLlm, stockPrice } from '../instant-agent.ts';
import { question } from '../model.ts';
import { pastEvent } from './past.ts';
import type { Prompt } from './prompts.ts';

interface MemoryWorld {
  makeSession(past: number): Promise<string>;
  turn(sessionId: string): Promise<void>;
}

const userId = 'growth';

/** Makes a world with the same agent in this process, in memory. */
export function memoryWorld(prompt: Prompt): MemoryWorld {
  const agent = new LlmAgent({
    name: 'agent',
    model: new InstantLlm({ model: 'instant' }),
    tools: [stockPrice],
    ...(prompt === 'none' && { includeContents: 'none' }),
    ...(prompt === 'windowed' && { contextCompactors: [new TruncatingContextCompactor({ threshold: 20 })] }),
  });
  const runner = new InMemoryRunner({ agent, appName: 'growth' });
  return {
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

/** Makes a world with the same agent in ADK, in memory. */
export function adkWorld(prompt: 'none' | 'full'): MemoryWorld {
  const agent = instantAdkAgent('agent', prompt === 'none' ? 'none' : 'default');
  const runner = new AdkRunner({ agent, appName: 'growth' });
  return {
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
