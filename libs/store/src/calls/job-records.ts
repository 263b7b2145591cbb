import { randomUUID } from 'node:crypto';
import { type Keys, keptJson, type ToolResult, toJson } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { type BusyReply, forgottenMs, type OtherHolder, otherHolder } from './call-results.ts';
import {
  finishJobScript,
  followJobScript,
  forgetJobScript,
  leaveJobScript,
  releaseJobScript,
  reportJobScript,
  takeJobScript,
} from './job-scripts.ts';

/** The state of a job for a worker that wants it. */
export type TakenJob =
  | {
      /** This worker holds the job as long as it renews its lease. */
      state: 'taken';
      /** Number of times that the job was begun, including this time. */
      attempt: number;
      /** Number of workers that have died at it. */
      deaths: number;
      /** The latest progress, of any worker. */
      lastProgress?: Record<string, unknown>;
    }
  | ({ state: 'done' } & FinishedJob)
  | OtherHolder;

/** A job that has its result. */
export interface FinishedJob {
  result: ToolResult;
  /** Number of progress messages before the result. */
  said: number;
  /**
   * Decides who tells the result, once and for all: true if a caller followed the job at its end, so that the
   * caller tells it; false if the worker tells it, as an update of the call. Either may die and repeat this.
   */
  heard: boolean;
}

/** One progress message of a job; the first has the number 1. */
export interface JobProgress {
  seq: number;
  response: Record<string, unknown>;
}

/** The progress and the result that a caller of a job receives. */
export interface FollowedJob {
  progress: JobProgress[];
  end?: Pick<FinishedJob, 'result' | 'heard'>;
}

/** The number of a kept progress message, and whether a caller follows the job. */
export interface ReportedWord {
  seq: number;
  /**
   * True if a caller follows the job. The caller receives the progress in order, so nobody else may publish
   * it.
   */
  isFollowed: boolean;
}

/**
 * The work of calls of long-running tools: its holder, its progress and its result. A record is kept for a
 * week after its last change.
 */
export interface JobRecords {
  /**
   * Takes a job for `leaseMs`, or renews the lease: one worker at a time has a job. A lease that has lapsed
   * still keeps others out, as {@link CallResults.take} says.
   *
   * @param holder names one process
   * @param gone a holder whose process is known to be gone: its lease is taken over if it has lapsed
   */
  take(tool: string, job: string, holder: string, leaseMs: number, gone?: string): Promise<TakenJob>;
  /** Hands the job back; this does not count as a death. */
  release(tool: string, job: string, holder: string): Promise<void>;
  /**
   * Keeps a progress message of the job. Returns undefined when another worker has the job by now.
   *
   * @param id the same for each repetition of one message, which is then kept once
   */
  report(
    tool: string,
    job: string,
    holder: string,
    response: Record<string, unknown>,
    id?: string,
  ): Promise<ReportedWord | undefined>;
  /**
   * Keeps the result, even if another worker has the job by now: the work is done. The first result stays.
   * Returns it.
   *
   * @throws MeshError `invalid_argument` for a result that JSON cannot hold, or that is too large
   */
  finish(tool: string, job: string, result: ToolResult): Promise<FinishedJob>;
  /**
   * Returns the progress after number `after`, and the end if there is one. From now on the caller counts as
   * following, for some seconds. A job that no worker has begun is remembered for a minute, so that a caller
   * that dies before it enqueues the job leaves nothing behind.
   */
  follow(tool: string, job: string, after: number): Promise<FollowedJob>;
  /** Does the same as {@link follow}, for the last time: the caller receives no later progress. */
  leave(tool: string, job: string, after: number): Promise<FollowedJob>;
  /**
   * Removes a job with all its progress. With `final`, an existing job ends with this result, which is kept
   * for ten minutes, so that a worker that is still busy stops and keeps no result.
   *
   * @returns whether there was a job
   */
  forget(tool: string, job: string, final?: ToolResult): Promise<boolean>;
}

const keepMs = 7 * 86_400_000;
/** Time for which a job is remembered that is followed and was not begun, in ms. */
const unbegunMs = 60_000;
/** Time for which a caller counts as following after its last question, in ms. */
const followMs = 3_000;
/** Number of progress messages that are kept for callers that follow the job from its start. */
const maxProgress = 1_000;

export function jobRecords(connection: RedisConnection, keys: Keys): JobRecords {
  const both = (tool: string, job: string) => [keys.job(tool, job), keys.jobProgress(tool, job)];
  return {
    async take(tool, job, holder, leaseMs, gone = '') {
      const reply = await connection.script<TakeReply>(
        takeJobScript,
        [keys.job(tool, job)],
        [holder, leaseMs, keepMs, gone],
      );
      if (reply[0] === 'done') return { state: 'done', ...finished(reply[1], reply[2], reply[3]) };
      if (reply[0] === 'busy') return otherHolder(reply);
      const [state, attempt, released, last] = reply;
      const lastProgress = last === '' ? undefined : (JSON.parse(last) as JobProgress['response']);
      return { state, attempt, deaths: attempt - 1 - released, ...(lastProgress && { lastProgress }) };
    },

    async release(tool, job, holder) {
      await connection.script(releaseJobScript, [keys.job(tool, job)], [holder]);
    },

    async report(tool, job, holder, response, id = randomUUID()) {
      const args = [holder, keptJson('progress', toJson(response, 'the progress')), keepMs, maxProgress, id];
      const [seq, followed] = await connection.script<[number, 0 | 1]>(
        reportJobScript,
        both(tool, job),
        args,
      );
      return seq === 0 ? undefined : { seq, isFollowed: followed === 1 };
    },

    async finish(tool, job, result) {
      const args = [keptJson('result', toJson(result, 'the result')), keepMs];
      return finished(...(await connection.script<Finished>(finishJobScript, [keys.job(tool, job)], args)));
    },

    async follow(tool, job, after) {
      const args = [after, followMs, keepMs, unbegunMs];
      return followed(await connection.script<Followed>(followJobScript, both(tool, job), args));
    },

    async leave(tool, job, after) {
      return followed(await connection.script<Followed>(leaveJobScript, both(tool, job), [after]));
    },

    async forget(tool, job, final) {
      const args = [final ? toJson(final, 'the result') : '', forgottenMs];
      return (await connection.script<number>(forgetJobScript, both(tool, job), args)) === 1;
    },
  };
}

type Followed = [log: [string, string[]][], result: string, heard: 0 | 1];
type Finished = [result: string, said: number, heard: 0 | 1];
type TakeReply =
  | ['done', ...Finished]
  | BusyReply
  | ['taken', attempt: number, released: number, last: string];

function followed([log, result, heard]: Followed): FollowedJob {
  const progress = log.map(([id, fields]) => ({
    seq: Number(id.slice('0-'.length)),
    response: JSON.parse(fields[1] ?? 'null') as JobProgress['response'],
  }));
  return { progress, ...(result !== '' && { end: { result: resultOf(result), heard: heard === 1 } }) };
}

function finished(...[result, said, heard]: Finished): FinishedJob {
  return { result: resultOf(result), said, heard: heard === 1 };
}

function resultOf(json: string): ToolResult {
  return JSON.parse(json) as ToolResult;
}
