import { type Event, type RunConfig, runConfigSchema } from '@agentmesh/protocol';
import { type ModelReply, type ModelScript, sequence, startScriptedGemini } from '@agentmesh/testing';
import type { FunctionResponse, Part } from '@google/genai';
import { onTestFinished } from 'vitest';
import type { BaseAgent } from './base/base-agent.ts';
import { BaseLlm, type LlmRequest, type LlmResponse } from './base/base-llm.ts';
import { InMemoryCredentialService } from './credentials/in-memory-credential-service.ts';
import { InMemorySignInService } from './credentials/in-memory-sign-in-service.ts';
import { stringifyContent } from './events/event.ts';
import { runInvocation } from './invocation/invocation.ts';
import { Gemini } from './models/gemini.ts';
import { InMemoryRunner, type InMemoryRunnerConfig } from './runner/runner.ts';
import { InMemorySessionService } from './sessions/in-memory/session-service.ts';

/** Makes the real Gemini client, connected to a scripted server. */
export async function scriptedModel(...replies: (ModelReply | ModelScript)[]) {
  const server = await startScriptedGemini({ script: sequence(...replies) });
  onTestFinished(() => server.close());
  return {
    // The client does not retry: a failing reply of a script is final.
    llm: new Gemini({
      model: 'gemini-test',
      apiKey: 'key',
      baseUrl: server.url,
      retryOptions: { attempts: 1 },
    }),
    requests: server.requests,
  };
}

/** A model of one's own: a function of the request and its number, from 1, returns the responses of an answer. */
export class OwnLlm extends BaseLlm {
  readonly requests: LlmRequest[] = [];
  readonly #answer: (request: LlmRequest, n: number) => readonly LlmResponse[];

  constructor(answer: (request: LlmRequest, n: number) => readonly LlmResponse[]) {
    super({ model: 'own' });
    this.#answer = answer;
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    this.requests.push(request);
    yield* this.#answer(request, this.requests.length);
  }
}

export const says = (text: string): LlmResponse => ({ content: { role: 'model', parts: [{ text }] } });
export const callsTo = (...names: string[]): LlmResponse => ({
  content: { role: 'model', parts: names.map((name) => ({ functionCall: { name, args: {} } })) },
});

/** Makes an in-memory runner with one session, and functions to talk to it. */
export async function chat(
  agent: BaseAgent,
  state?: Record<string, unknown>,
  config: Partial<InMemoryRunnerConfig> = {},
) {
  const runner = new InMemoryRunner({ agent, appName: 'app', ...config });
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
    /** Answers a pending call. */
    answer: (
      id: string | undefined,
      response: Record<string, unknown>,
      more: Partial<FunctionResponse> = {},
    ): Promise<Event[]> =>
      Array.fromAsync(
        runner.runAsync({
          ...ref,
          newMessage: {
            parts: [{ functionResponse: { ...(id !== undefined && { id }), response, ...more } }],
          },
        }),
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

/** Describes an event in short: its author and its content. */
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

/**
 * Makes a session whose invocations run in processes that die right after their first commit. The next
 * process continues from the log.
 *
 * @param customMetadata metadata of the messages with a text
 */
export async function crashingChat(agent: BaseAgent, customMetadata?: Record<string, unknown>) {
  const sessionService = new InMemorySessionService();
  const credentialService = new InMemoryCredentialService();
  const signInService = new InMemorySignInService();
  const ref = { appName: 'app', userId: 'u', sessionId: 's' };
  await sessionService.createSession(ref);
  const runConfig = runConfigSchema.parse({});
  let invocations = 0;

  async function say(part: Part, continued?: string): Promise<Event[]> {
    const newMessage = { role: 'user', parts: [part] };
    const events: Event[] = [];
    invocations += 1;
    const run = {
      invocationId: continued ?? `e-${invocations}`,
      ...(continued && { resume: `r-${invocations}` }),
    };
    for (let processes = 0; processes < 30; processes += 1) {
      const session = await sessionService.getSession(ref);
      if (!session) throw new Error('the session is gone');
      const before = events.length;
      const services = { sessionService, credentialService, signInService };
      const message = { newMessage, ...(part.text !== undefined && { customMetadata }) };
      const process = runInvocation({ agent, session, ...services, ...run, ...message, runConfig });
      for await (const event of process) {
        if (event.partial) continue;
        events.push(event);
        break;
      }
      if (events.length === before) return events.slice(1);
    }
    throw new Error(`it never ends: ${events.map(brief).join(', ')}`);
  }

  /** @param continued the invocation that the answer continues; default: a new one */
  const answer = (id: string | undefined, response: Record<string, unknown>, continued?: string) =>
    say({ functionResponse: { ...(id !== undefined && { id }), response } }, continued);
  return { say: (text: string) => say({ text }), answer, sessionService, ref };
}

/** Sends one message in a {@link crashingChat}. */
export async function runWithCrashes(agent: BaseAgent, text = 'go'): Promise<Event[]> {
  return await (await crashingChat(agent)).say(text);
}
