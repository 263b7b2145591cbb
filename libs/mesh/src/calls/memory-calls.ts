import { keptJson, type ToolResult } from '@agentmesh/protocol';
import type { CallResults, FinishedJob, JobProgress, JobRecords, OtherHolder } from '@agentmesh/store';

/** The in-memory twin of the results of calls. */
export function memoryCallResults(): CallResults {
  const results = new Map<string, ToolResult>();
  const leases = new Map<string, { holder: string; until: number }>();
  return {
    get: async (tool, callId) => results.get(`${tool}/${callId}`),
    put: async (tool, callId, result) => {
      keptJson('result', JSON.stringify(result));
      const first = results.get(`${tool}/${callId}`) ?? result;
      results.set(`${tool}/${callId}`, first);
      return first;
    },
    take: async (tool, callId, holder, leaseMs, gone) => {
      const key = `${tool}/${callId}`;
      const result = results.get(key);
      if (result) return { state: 'done', result };
      const other = otherHolder(leases.get(key), holder, gone);
      if (other) return other;
      leases.set(key, { holder, until: Date.now() + leaseMs });
      return { state: 'taken' };
    },
    release: async (tool, callId, holder) => {
      const key = `${tool}/${callId}`;
      if (leases.get(key)?.holder === holder) leases.delete(key);
    },
    forget: async (tool, callId, final) => {
      const key = `${tool}/${callId}`;
      const record = results.get(key);
      if (record !== undefined && record === final) return false;
      const was = [results.delete(key), leases.delete(key)].includes(true);
      if (was && final) results.set(key, final);
      return was;
    },
  };
}

/** Returns the other holder that keeps this one out, if there is one. */
function otherHolder(
  lease: { holder?: string; until: number } | undefined,
  holder: string,
  gone: string | undefined,
): OtherHolder | undefined {
  if (lease?.holder === undefined || lease.holder === holder) return undefined;
  const isLapsed = lease.until <= Date.now();
  return isLapsed && lease.holder === gone ? undefined : { state: 'busy', holder: lease.holder, isLapsed };
}

/** The in-memory twin of the records of jobs. */
export function memoryJobs(): JobRecords {
  interface Entry {
    holder?: string;
    until: number;
    attempts: number;
    released: number;
    progress: JobProgress[];
    lastId?: string;
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
  const followed = ({ finished, progress }: Entry, after: number) => ({
    progress: progress.slice(after),
    ...(finished && { end: { result: finished.result, heard: finished.heard } }),
  });
  return {
    async take(tool, job, holder, leaseMs, gone) {
      const record = entry(tool, job);
      if (record.finished) return { state: 'done', ...record.finished };
      const other = otherHolder(record, holder, gone);
      if (other) return other;
      if (record.holder !== holder) {
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
    async report(tool, job, holder, response, id) {
      keptJson('progress', JSON.stringify(response));
      const record = entry(tool, job);
      if (record.holder !== holder) return undefined;
      const isFollowed = record.followedUntil > Date.now();
      if (id !== undefined && record.lastId === id) return { seq: record.progress.length, isFollowed };
      if (id !== undefined) record.lastId = id;
      const seq = record.progress.push({ seq: record.progress.length + 1, response });
      return { seq, isFollowed };
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
      return followed(record, after);
    },
    async leave(tool, job, after) {
      const record = entry(tool, job);
      if (!record.finished) record.followedUntil = 0;
      return followed(record, after);
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
