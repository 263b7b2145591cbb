import type { CallResults, JobRecords } from '@agentmesh/store';

/** Notes the claims on calls of remote tools that have no result yet. */
export function watchCalls(results: CallResults, claims: Map<string, string>): CallResults {
  return {
    ...results,
    async take(tool, callId, holder, ...rest) {
      const taken = await results.take(tool, callId, holder, ...rest);
      if (taken.state === 'taken') claims.set(`${tool}/${callId}`, holder);
      return taken;
    },
    async put(tool, callId, ...rest) {
      claims.delete(`${tool}/${callId}`);
      return await results.put(tool, callId, ...rest);
    },
    async release(tool, callId, holder) {
      if (claims.get(`${tool}/${callId}`) === holder) claims.delete(`${tool}/${callId}`);
      await results.release(tool, callId, holder);
    },
    async forget(tool, callId, final) {
      claims.delete(`${tool}/${callId}`);
      return await results.forget(tool, callId, final);
    },
  };
}

/** Notes the jobs that are not over. */
export function watchJobs(jobs: JobRecords, open: Set<string>): JobRecords {
  return {
    ...jobs,
    async take(tool, job, ...rest) {
      const taken = await jobs.take(tool, job, ...rest);
      if (taken.state === 'taken') open.add(`${tool}/${job}`);
      return taken;
    },
    async finish(tool, job, result) {
      open.delete(`${tool}/${job}`);
      return await jobs.finish(tool, job, result);
    },
    async forget(tool, job, final) {
      open.delete(`${tool}/${job}`);
      return await jobs.forget(tool, job, final);
    },
  };
}
