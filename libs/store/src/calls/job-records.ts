import { randomUUID } from 'node:crypto';
import { type Keys, keptJson, type ToolResult, toJson } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { clock } from '../scripts/clock.ts';
import { script } from '../scripts/script.ts';
import { forgottenMs } from './call-results.ts';

/** What a worker finds that wants a job. */
export type TakenJob =
  | {
      /** The job is this worker's as long as it shows that it lives. */
      state: 'taken';
      /** How often the job was begun, this time counted. */
      attempt: number;
      /** How many workers have died at it. */
      deaths: number;
      /** What was said last, by whichever worker. */
      lastProgress?: Record<string, unknown>;
    }
  | ({ state: 'done' } & FinishedJob)
  | { state: 'busy' };

/** A job that has its result. */
export interface FinishedJob {
  result: ToolResult;
  /** How much was said before. */
  said: number;
  /** Was a caller there who heard of the result by following? */
  heard: boolean;
}

/** One thing that a job has said on its way; the first has the number 1. */
export interface JobProgress {
  seq: number;
  response: Record<string, unknown>;
}

/** What a caller hears of a job. */
export interface FollowedJob {
  progress: JobProgress[];
  result?: ToolResult;
}

/** What a worker learns of a word that was kept. */
export interface ReportedWord {
  seq: number;
  /** Does a caller follow the job? It hears the word, in order: nobody else may tell it. */
  isFollowed: boolean;
}

/** The work of calls of long-running tools: who does it, how far it is, and what came of it. Kept for a week after its last change. */
export interface JobRecords {
  /**
   * Takes a job for `leaseMs`, or renews: of many workers one has it. A job whose worker gave no sign of life in time is taken over.
   *
   * @param holder unique to one attempt
   */
  take(tool: string, job: string, holder: string, leaseMs: number): Promise<TakenJob>;
  /** Hands the job back without having died at it. */
  release(tool: string, job: string, holder: string): Promise<void>;
  /** Keeps what the job says on its way. Undefined when the job is another worker's by now. */
  report(
    tool: string,
    job: string,
    holder: string,
    response: Record<string, unknown>,
  ): Promise<ReportedWord | undefined>;
  /**
   * Keeps the result, whoever has the job by now: work that was done is done. The first one stays. Returns it.
   *
   * @throws MeshError `invalid_argument` for what JSON cannot hold, and for what is too large
   */
  finish(tool: string, job: string, result: ToolResult): Promise<FinishedJob>;
  /** What was said after the nth word, and the result once it is there. Who asks counts as following for some seconds. */
  follow(tool: string, job: string, after: number): Promise<FollowedJob>;
  /** As {@link follow}, for the last time: what is said from now on is not the caller's to hear. */
  leave(tool: string, job: string, after: number): Promise<FollowedJob>;
  /**
   * Removes a job with all that it said. `final`: one that is there ends with that result, for ten minutes, so that a worker that is still at it stops and
   * keeps none.
   *
   * @returns whether there was one
   */
  forget(tool: string, job: string, final?: ToolResult): Promise<boolean>;
}

const keepMs = 7 * 86_400_000;
/** How long a caller counts as following after it has last asked, in ms. */
const followMs = 3_000;
/** How many words of a job are kept for those who follow it from the start. */
const maxProgress = 1_000;

/** KEYS job. ARGV holder, lease, ttl. */
const takeJobScript = script(`${clock}
local found = redis.call('HMGET', KEYS[1], 'result', 'holder', 'until', 'said', 'heard')
if found[1] then return { 'done', found[1], tonumber(found[4] or 0), tonumber(found[5]) } end
local is_mine = found[2] == ARGV[1]
if not is_mine and found[3] and tonumber(found[3]) > now_ms() then return { 'busy' } end
if not is_mine then redis.call('HINCRBY', KEYS[1], 'attempts', 1) end
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'until', now_ms() + tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local now = redis.call('HMGET', KEYS[1], 'attempts', 'released', 'last')
return { 'taken', tonumber(now[1]), tonumber(now[2] or 0), now[3] or '' }
`);

/** KEYS job. ARGV holder. */
const releaseJobScript = script(`
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], 'holder', 'until')
return redis.call('HINCRBY', KEYS[1], 'released', 1)
`);

/**
 * KEYS job, progress. ARGV holder, response, ttl, how many to keep, nonce. Returns the number, or 0; and 1 when a caller follows.
 * The nonce tells a repetition of our own call from the next word: a worker says one after the other.
 */
const reportJobScript = script(`${clock}
local found = redis.call('HMGET', KEYS[1], 'holder', 'nonce', 'said', 'followed', 'told')
if found[1] ~= ARGV[1] then return { 0, 0 } end
if found[2] == ARGV[5] then return { tonumber(found[3]), tonumber(found[5]) } end
local followed = tonumber(found[4] or 0) > now_ms() and 1 or 0
local n = redis.call('HINCRBY', KEYS[1], 'said', 1)
redis.call('HSET', KEYS[1], 'last', ARGV[2], 'nonce', ARGV[5], 'told', followed)
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[4], '0-' .. n, 'r', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return { n, followed }
`);

/** KEYS job. ARGV result, ttl. */
const finishJobScript = script(`${clock}
if redis.call('HEXISTS', KEYS[1], 'result') == 0 then
  local followed = tonumber(redis.call('HGET', KEYS[1], 'followed') or 0)
  redis.call('HSET', KEYS[1], 'result', ARGV[1], 'heard', followed > now_ms() and 1 or 0)
  redis.call('HDEL', KEYS[1], 'holder', 'until')
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
local now = redis.call('HMGET', KEYS[1], 'result', 'said', 'heard')
return { now[1], tonumber(now[2] or 0), tonumber(now[3]) }
`);

/** KEYS job, progress. ARGV after, how long one counts as following, ttl. */
const followJobScript = script(`${clock}
local result = redis.call('HGET', KEYS[1], 'result')
redis.call('HSET', KEYS[1], 'followed', now_ms() + tonumber(ARGV[2]))
-- What has ended has its time.
if not result then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return { redis.call('XRANGE', KEYS[2], '0-' .. ARGV[1] + 1, '+'), result or '' }
`);

/** KEYS job, progress. ARGV the result that it ends with or '', and for how long, ms. 1: there was one. */
const forgetJobScript = script(`
redis.call('UNLINK', KEYS[2])
local known = redis.call('HGET', KEYS[1], 'result')
if known == ARGV[1] or redis.call('UNLINK', KEYS[1]) == 0 then return 0 end
if ARGV[1] ~= '' then
  redis.call('HSET', KEYS[1], 'result', ARGV[1], 'heard', 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
`);

/** KEYS job, progress. ARGV after. */
const leaveJobScript = script(`
local result = redis.call('HGET', KEYS[1], 'result')
if not result then redis.call('HDEL', KEYS[1], 'followed') end
return { redis.call('XRANGE', KEYS[2], '0-' .. ARGV[1] + 1, '+'), result or '' }
`);

export function jobRecords(connection: RedisConnection, keys: Keys): JobRecords {
  const both = (tool: string, job: string) => [keys.job(tool, job), keys.jobProgress(tool, job)];
  return {
    async take(tool, job, holder, leaseMs) {
      const found = await connection.script<TakeReply>(
        takeJobScript,
        [keys.job(tool, job)],
        [holder, leaseMs, keepMs],
      );
      if (found[0] === 'done') return { state: 'done', ...finished(found[1], found[2], found[3]) };
      if (found[0] === 'busy') return { state: 'busy' };
      const [state, attempt, released, last] = found;
      const lastProgress = last === '' ? undefined : (JSON.parse(last) as JobProgress['response']);
      return { state, attempt, deaths: attempt - 1 - released, ...(lastProgress && { lastProgress }) };
    },

    async release(tool, job, holder) {
      await connection.script(releaseJobScript, [keys.job(tool, job)], [holder]);
    },

    async report(tool, job, holder, response) {
      const args = [
        holder,
        keptJson('progress', toJson(response, 'the progress')),
        keepMs,
        maxProgress,
        randomUUID(),
      ];
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
      const args = [after, followMs, keepMs];
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

type Followed = [log: [string, string[]][], result: string];
type Finished = [result: string, said: number, heard: 0 | 1];
type TakeReply =
  | ['done', ...Finished]
  | ['busy']
  | ['taken', attempt: number, released: number, last: string];

function followed([log, result]: Followed): FollowedJob {
  const progress = log.map(([id, fields]) => ({
    seq: Number(id.slice('0-'.length)),
    response: JSON.parse(fields[1] ?? 'null') as JobProgress['response'],
  }));
  return { progress, ...(result !== '' && { result: resultOf(result) }) };
}

function finished(...[result, said, heard]: Finished): FinishedJob {
  return { result: resultOf(result), said, heard: heard === 1 };
}

function resultOf(json: string): ToolResult {
  return JSON.parse(json) as ToolResult;
}
