import { BaseLlm, InMemorySessionService, type LlmRequest, type LlmResponse } from '@agentmesh/agent';
import { type Bus, MemoryHub } from '@agentmesh/bus';
import type { Event, RunCommandInput, SessionRef } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { until } from '@agentmesh/testing';
import type { Part } from '@google/genai';
import { memoryCallResults, memoryJobs } from './calls/memory-calls.ts';
import { readInvocation } from './client/follow-run.ts';
import { startRun } from './client/start-run.ts';
import { createMesh, type MeshParts } from './connect/create-mesh.ts';
import { createCallers, memoryCallerKeys } from './mesh/callers.ts';
import type { Mesh } from './mesh/mesh.ts';

/** A model that gives one answer after the other; an answer may be a function of the request. */
export class ScriptedLlm extends BaseLlm {
  readonly requests: LlmRequest[] = [];
  readonly #answers: (Part[] | ((request: LlmRequest) => Part[]))[];

  constructor(...answers: (Part[] | ((request: LlmRequest) => Part[]))[]) {
    super({ model: 'scripted' });
    this.#answers = answers;
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    this.requests.push(request);
    const answer = this.#answers.shift();
    if (!answer) throw new Error('the model has no answer left');
    const parts = typeof answer === 'function' ? answer(request) : answer;
    yield { content: { role: 'model', parts } };
  }
}

export const says = (text: string): Part[] => [{ text }];
export const calls = (name: string, args: Record<string, unknown> = {}): Part[] => [
  { functionCall: { name, args } },
];

/**
 * Makes a mesh in one process: each `connect` stands for a process of its own. Messages between them are
 * really serialised.
 */
export function memoryMesh(
  kept: Pick<Mesh, 'box' | 'credentials' | 'credentialRecords' | 'memory'> &
    Pick<MeshParts, 'limits' | 'priceOf'> = {},
) {
  const hub = new MemoryHub();
  const sessions = new InMemorySessionService();
  const callResults = memoryCallResults();
  const jobs = memoryJobs();
  const callers = createCallers(memoryCallerKeys());
  const lines: string[] = [];
  const log = createLogger({
    service: 'test',
    replica: 'test',
    level: 'warn',
    destination: { write: (line) => void lines.push(line) },
  });
  const connect = async (service: string): Promise<Mesh & { bus: Bus }> =>
    createMesh({ bus: await hub.connect({ service }), sessions, callResults, jobs, callers, log, ...kept });
  return {
    hub,
    sessions,
    callResults,
    jobs,
    connect,
    /** The lines that were logged as warnings or errors. */
    lines,
    /** Makes a session with the app's root, and a function that sends messages in it. */
    async chat(app: string) {
      const client = await connect('client');
      const { id } = await sessions.createSession({ appName: app, userId: 'u' });
      return {
        client,
        ref: { appName: app, userId: 'u', sessionId: id },
        async say(text: string, runConfig?: RunCommandInput['runConfig']) {
          const run = await startRun(client, {
            app,
            user: 'u',
            session: id,
            message: text,
            ...(runConfig && { runConfig }),
          });
          const events: Event[] = await Array.fromAsync(run.events);
          return { ...run, events, end: await run.end };
        },
      };
    },
  };
}

/** Describes an event in a few words: its author and its content. */
export function brief({ author, content, errorCode }: Event): string {
  const [part] = content?.parts ?? [];
  if (errorCode !== undefined) return `${author}: fails ${errorCode}`;
  if (part?.functionCall) return `${author}: calls ${part.functionCall.name}`;
  if (part?.functionResponse) return `${author}: gets ${JSON.stringify(part.functionResponse.response)}`;
  return `${author}: ${part?.text}`;
}

/** Waits until a run waits for its session. */
export async function untilWaiting(
  mesh: Mesh,
  ref: SessionRef,
  { invocationId }: { invocationId: string },
): Promise<void> {
  const status = async () => (await readInvocation(mesh, { ...ref, invocationId })).status;
  await until(async () => (await status().catch(() => undefined)) === 'waiting', { what: 'the run to wait' });
}
