// Shared by the examples: a conversation in one process that prints each event.
import {
  type BaseAgent,
  type Event,
  InMemoryRunner,
  type InMemoryRunnerConfig,
  type RunRequest,
  type Session,
} from '@agentmesh/agent';
import type { Part } from '@google/genai';

const appName = 'examples';

export function runnerOf(agent: BaseAgent, config: Partial<InMemoryRunnerConfig> = {}): InMemoryRunner {
  return new InMemoryRunner({ agent, appName, ...config });
}

/** Begins a session of the user. */
export async function chat(runner: InMemoryRunner, state: Record<string, unknown> = {}, userId = 'ann') {
  const { id: sessionId } = await runner.sessionService.createSession({ appName, userId, state });
  async function send(parts: Part[], more: Partial<RunRequest> = {}): Promise<Event[]> {
    const newMessage = { role: 'user', parts };
    const events: Event[] = [];
    for await (const event of runner.runAsync({ userId, sessionId, newMessage, ...more })) {
      events.push(event);
      if (!event.branch) printEvent(event);
    }
    return events;
  }
  return {
    async say(text: string, more?: Partial<RunRequest>): Promise<Event[]> {
      console.log(`${userId}: ${text}`);
      return await send([{ text }], more);
    },
    /** Answers a pending call. */
    async answer(
      functionResponse: NonNullable<Part['functionResponse']>,
      more?: Partial<RunRequest>,
    ): Promise<Event[]> {
      console.log(`${userId} answers ${functionResponse.name}: ${JSON.stringify(functionResponse.response)}`);
      return await send([{ functionResponse }], more);
    },
    async session(): Promise<Session | undefined> {
      return await runner.sessionService.getSession({ appName, userId, sessionId });
    },
  };
}

/** Prints an event: its text, calls, responses and actions. */
export function printEvent({ author, partial, content, errorCode, errorMessage, actions }: Event): void {
  const who = partial ? `… ${author}` : author;
  for (const { text, thought, functionCall: call, functionResponse: response } of content?.parts ?? []) {
    if (text) console.log(`${who}${thought ? ' thinks' : ''}: ${text}`);
    if (call) console.log(`${who} calls ${call.name} ${short(call.args)}`);
    if (response) console.log(`${who} gets of ${response.name} ${short(response.response)}`);
  }
  if (errorCode) console.log(`${who} fails: ${errorCode} ${errorMessage}`);
  const { stateDelta, artifactDelta, transferToAgent, escalate, skipSummarization } = actions;
  const files = Object.keys(artifactDelta).length > 0 ? artifactDelta : undefined;
  const state = Object.keys(stateDelta).length > 0 ? stateDelta : undefined;
  const marks = { state, files, transferToAgent, escalate, skipSummarization };
  if (Object.values(marks).some(Boolean)) console.log(`  ${JSON.stringify(marks)}`);
}

/** Writes a value as JSON, without the ids of calls. */
const short = (value: unknown) => JSON.stringify(value).replace(/adk-[\w-]+/g, 'adk-…');
