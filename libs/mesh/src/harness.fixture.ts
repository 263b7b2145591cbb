import { BaseLlm, InMemorySessionService, type LlmRequest, type LlmResponse } from '@agentmesh/agent';
import { type Bus, MemoryHub } from '@agentmesh/bus';
import { type Event, keptJson, type RunCommandInput, type ToolResult } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import type { CallResults, FinishedJob, JobProgress, JobRecords } from '@agentmesh/store';
import type { Part } from '@google/genai';
import { startRun } from './client/start-run.ts';
import { createMesh } from './connect/create-mesh.ts';
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
  const holders = new Map<string, string>();
  return {
    get: async (tool, callId) => results.get(`${tool}/${callId}`),
    put: async (tool, callId, result) => {
      keptJson('result', JSON.stringify(result));
      const first = results.get(`${tool}/${callId}`) ?? result;
      results.set(`${tool}/${callId}`, first);
      return first;
    },
    take: async (tool, callId, holder) => {
      const result = results.get(`${tool}/${callId}`);
      if (result) return { state: 'done', result };
      const other = holders.get(`${tool}/${callId}`);
      if (other !== undefined && other !== holder) return { state: 'busy' };
      holders.set(`${tool}/${callId}`, holder);
      return { state: 'taken' };
    },
    release: async (tool, callId) => void holders.delete(`${tool}/${callId}`),
    forget: async (tool, callId, final) => {
      const key = `${tool}/${callId}`;
      const record = results.get(key);
      if (record !== undefined && record === final) return false;
      const was = [results.delete(key), holders.delete(key)].includes(true);
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
    const record = entries.get(key) ?? fresh;
    entries.set(key, record);
    return record;
  };
  return {
    async take(tool, job, holder, leaseMs) {
      const record = entry(tool, job);
      if (record.finished) return { state: 'done', ...record.finished };
      if (record.holder !== holder) {
        if (record.until > Date.now()) return { state: 'busy' };
        record.attempts += 1;
        record.holder = holder;
      }
      record.until = Date.now() + leaseMs;
      const lastProgress = record.progress.at(-1)?.response;
      const deaths = record.attempts - 1 - record.released;
      return { state: 'taken', attempt: record.attempts, deaths, ...(lastProgress && { lastProgress }) };
    },
    async release(tool, job, holder) {
      const record = entry(tool, job);
      if (record.holder !== holder) return;
      delete record.holder;
      record.until = 0;
      record.released += 1;
    },
    async report(tool, job, holder, response) {
      keptJson('progress', JSON.stringify(response));
      const record = entry(tool, job);
      if (record.holder !== holder) return undefined;
      const seq = record.progress.push({ seq: record.progress.length + 1, response });
      return { seq, isFollowed: record.followedUntil > Date.now() };
    },
    async finish(tool, job, result) {
      keptJson('result', JSON.stringify(result));
      const record = entry(tool, job);
      const heard = record.followedUntil > Date.now();
      record.finished ??= { result, said: record.progress.length, heard };
      return record.finished;
    },
    async follow(tool, job, after) {
      const record = entry(tool, job);
      record.followedUntil = Date.now() + 3_000;
      const { finished, progress } = record;
      return { progress: progress.slice(after), ...(finished && { result: finished.result }) };
    },
    async leave(tool, job, after) {
      const { finished, progress } = entry(tool, job);
      if (!finished) entry(tool, job).followedUntil = 0;
      return { progress: progress.slice(after), ...(finished && { result: finished.result }) };
    },
    async forget(tool, job, final) {
      const key = `${tool}/${job}`;
      const record = entries.get(key);
      if (!record || (final && record.finished?.result === final)) return false;
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
