import { BaseLlm, InMemorySessionService, type LlmRequest, type LlmResponse } from '@agentmesh/agent';
import { type Bus, MemoryHub } from '@agentmesh/bus';
import { type Event, keptJson, type RunCommandInput, type ToolResult } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import type { CallResults, FinishedJob, JobProgress, JobRecords } from '@agentmesh/store';
import type { Part } from '@google/genai';
import { startRun } from './client/start-run.ts';
import { createMesh } from './connect/create-mesh.ts';
import type { Mesh } from './mesh/mesh.ts';

/** A model that gives one answer after the other; a function sees the request first. */
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
export function memoryMesh(kept: Pick<Mesh, 'box' | 'credentials' | 'credentialRecords' | 'memory'> = {}) {
  const hub = new MemoryHub();
  const sessions = new InMemorySessionService();
  const callResults = memoryCallResults();
  const jobs = memoryJobs();
  const lines: string[] = [];
  const log = createLogger({
    service: 'test',
    replica: 'test',
    level: 'warn',
    destination: { write: (line) => void lines.push(line) },
  });
  const connect = async (service: string): Promise<Mesh & { bus: Bus }> =>
    createMesh({ bus: await hub.connect({ service }), sessions, callResults, jobs, log, ...kept });
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

function memoryCallResults(): CallResults {
  const results = new Map<string, ToolResult>();
  const claims = new Map<string, string>();
  return {
    get: async (tool, callId) => results.get(`${tool}/${callId}`),
    put: async (tool, callId, result) => {
      keptJson('result', JSON.stringify(result));
      const first = results.get(`${tool}/${callId}`) ?? result;
      results.set(`${tool}/${callId}`, first);
      return first;
    },
    claim: async (tool, callId, holder) => {
      const result = results.get(`${tool}/${callId}`);
      if (result) return { state: 'done', result };
      const other = claims.get(`${tool}/${callId}`);
      if (other !== undefined && other !== holder) return { state: 'busy' };
      claims.set(`${tool}/${callId}`, holder);
      return { state: 'claimed' };
    },
    release: async (tool, callId) => void claims.delete(`${tool}/${callId}`),
    forget: async (tool, callId, final) => {
      const key = `${tool}/${callId}`;
      const known = results.get(key);
      if (known !== undefined && known === final) return false;
      const was = [results.delete(key), claims.delete(key)].includes(true);
      if (was && final) results.set(key, final);
      return was;
    },
  };
}

function memoryJobs(): JobRecords {
  interface Entry {
    holder?: string;
    until: number;
    attempts: number;
    released: number;
    progress: JobProgress[];
    followedUntil: number;
    finished?: FinishedJob;
  }
  const entries = new Map<string, Entry>();
  const entry = (tool: string, job: string): Entry => {
    const key = `${tool}/${job}`;
    const fresh = { until: 0, attempts: 0, released: 0, progress: [], followedUntil: 0 };
    const known = entries.get(key) ?? fresh;
    entries.set(key, known);
    return known;
  };
  return {
    async take(tool, job, holder, leaseMs) {
      const known = entry(tool, job);
      if (known.finished) return { state: 'done', ...known.finished };
      if (known.holder !== holder) {
        if (known.until > Date.now()) return { state: 'busy' };
        known.attempts += 1;
        known.holder = holder;
      }
      known.until = Date.now() + leaseMs;
      const lastProgress = known.progress.at(-1)?.response;
      const deaths = known.attempts - 1 - known.released;
      return { state: 'taken', attempt: known.attempts, deaths, ...(lastProgress && { lastProgress }) };
    },
    async release(tool, job, holder) {
      const known = entry(tool, job);
      if (known.holder !== holder) return;
      delete known.holder;
      known.until = 0;
      known.released += 1;
    },
    async report(tool, job, holder, response) {
      keptJson('progress', JSON.stringify(response));
      const known = entry(tool, job);
      if (known.holder !== holder) return undefined;
      const seq = known.progress.push({ seq: known.progress.length + 1, response });
      return { seq, isFollowed: known.followedUntil > Date.now() };
    },
    async finish(tool, job, result) {
      keptJson('result', JSON.stringify(result));
      const known = entry(tool, job);
      const heard = known.followedUntil > Date.now();
      known.finished ??= { result, said: known.progress.length, heard };
      return known.finished;
    },
    async follow(tool, job, after) {
      const known = entry(tool, job);
      known.followedUntil = Date.now() + 3_000;
      const { finished, progress } = known;
      return { progress: progress.slice(after), ...(finished && { result: finished.result }) };
    },
    async leave(tool, job, after) {
      const { finished, progress } = entry(tool, job);
      if (!finished) entry(tool, job).followedUntil = 0;
      return { progress: progress.slice(after), ...(finished && { result: finished.result }) };
    },
    async forget(tool, job, final) {
      const key = `${tool}/${job}`;
      const known = entries.get(key);
      if (!known || (final && known.finished?.result === final)) return false;
      entries.delete(key);
      if (final) entry(tool, job).finished = { result: final, said: 0, heard: true };
      return true;
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
