import type { Event, RunConfig } from '@agentmesh/protocol';
import {
  type ModelReply,
  type ModelScript,
  type ScriptedGemini,
  sequence,
  startScriptedGemini,
} from '@agentmesh/testing';
import { afterAll } from 'vitest';
import type { BaseAgent } from './base-agent.ts';
import { stringifyContent } from './event.ts';
import { Gemini } from './models/gemini.ts';
import { InMemoryRunner } from './runner.ts';

const servers: ScriptedGemini[] = [];
afterAll(() => Promise.all(servers.map((server) => server.close())));

/** The real Gemini client, talking to a scripted server. */
export async function scriptedModel(...replies: (ModelReply | ModelScript)[]) {
  const server = await startScriptedGemini({ script: sequence(...replies) });
  servers.push(server);
  return {
    llm: new Gemini({ model: 'gemini-test', apiKey: 'key', baseUrl: server.url }),
    requests: server.requests,
  };
}

/** An in-memory runner with one session, and a short way to say something in it. */
export async function chat(agent: BaseAgent, state?: Record<string, unknown>) {
  const runner = new InMemoryRunner({ agent, appName: 'app' });
  const session = await runner.sessionService.createSession({
    appName: 'app',
    userId: 'u',
    ...(state && { state }),
  });
  const ref = { userId: 'u', sessionId: session.id };
  return {
    runner,
    say: (text: string, runConfig: Partial<RunConfig> = {}): Promise<Event[]> =>
      Array.fromAsync(
        runner.runAsync({ ...ref, runConfig, newMessage: { role: 'user', parts: [{ text }] } }),
      ),
    stored: async () => {
      const stored = await runner.sessionService.getSession({
        appName: 'app',
        userId: 'u',
        sessionId: session.id,
      });
      if (!stored) throw new Error('the session is gone');
      return stored;
    },
  };
}

/** An event in a word: who, and what. */
export function brief(event: Event): string {
  const [part] = event.content?.parts ?? [];
  const kind = part?.functionCall
    ? `calls ${part.functionCall.name}`
    : part?.functionResponse
      ? `gets ${JSON.stringify(part.functionResponse.response)}`
      : event.errorCode !== undefined
        ? `fails ${event.errorCode}`
        : stringifyContent(event);
  return `${event.author}: ${kind}`;
}
