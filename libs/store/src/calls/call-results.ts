import { type Keys, keptJson, MeshError, shortId, type ToolResult, toJson } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { claimCallScript, forgetCallScript, putCallScript, releaseCallScript } from './call-scripts.ts';

/** What a claim came to: the work is ours, was done before, or is another's now. */
export type CallClaim = { state: 'claimed' } | { state: 'done'; result: ToolResult } | { state: 'busy' };

/** Results of remote tool calls by call id: a repeated call gets the first one's result. */
export interface CallResults {
  get(tool: string, callId: string): Promise<ToolResult | undefined>;
  /**
   * Keeps a result for `ttlMs`, unless there is one. Returns the one that is kept: the first. Ends the claim, whoever has it.
   *
   * @throws MeshError `invalid_argument`, also for a result that is too large
   */
  put(tool: string, callId: string, result: ToolResult, ttlMs: number): Promise<ToolResult>;
  /**
   * Claims the work of a call for `ttlMs`, so that one of many concurrent repeats does it. Again with the same holder, it renews the claim.
   * A claim spares work and promises nothing: it may expire while its holder is still busy, so `put` keeps the first result all the same.
   *
   * @param holder unique to one attempt, as equal holders do not keep each other out
   * @throws MeshError `invalid_argument`
   */
  claim(tool: string, callId: string, holder: string, ttlMs: number): Promise<CallClaim>;
  /** Gives up a claim without a result; no-op for a claim of another, or none. */
  release(tool: string, callId: string, holder: string): Promise<void>;
  /**
   * Removes a result, or a claim. `final`: in the place of one that is there comes that result for {@link forgottenMs}, so that nobody who is still at the
   * call keeps another.
   *
   * @returns whether there was one
   */
  forget(tool: string, callId: string, final?: ToolResult): Promise<boolean>;
}

/** How long it is known that a call is not to have a result, in ms. */
export const forgottenMs = 600_000;

export function callResults(connection: RedisConnection, keys: Keys): CallResults {
  const keyOf = (tool: string, callId: string) => keys.call(tool, shortId(callId));
  return {
    async get(tool, callId) {
      const key = keyOf(tool, callId);
      const json = await connection.run((redis) => redis.hget(key, 'result'));
      return json === null ? undefined : resultOf(json);
    },
    async put(tool, callId, result, ttlMs) {
      assertTtl('a result', ttlMs);
      const args = [keptJson('result', toJson(result, 'the result')), ttlMs];
      return resultOf(await connection.script<string>(putCallScript, [keyOf(tool, callId)], args));
    },
    async claim(tool, callId, holder, ttlMs) {
      assertTtl('a claim', ttlMs);
      const args = [holder, ttlMs];
      return claimOf(await connection.script<ClaimReply>(claimCallScript, [keyOf(tool, callId)], args));
    },
    async release(tool, callId, holder) {
      await connection.script(releaseCallScript, [keyOf(tool, callId)], [holder]);
    },
    async forget(tool, callId, final) {
      const args = [final ? toJson(final, 'the result') : '', forgottenMs];
      return (await connection.script<number>(forgetCallScript, [keyOf(tool, callId)], args)) === 1;
    },
  };
}

type ClaimReply = ['claimed'] | ['busy'] | ['done', result: string];

function claimOf([state, json]: ClaimReply): CallClaim {
  return state === 'done' ? { state, result: resultOf(json) } : { state };
}

function resultOf(json: string): ToolResult {
  return JSON.parse(json) as ToolResult;
}

function assertTtl(what: string, ttlMs: number): void {
  if (Number.isSafeInteger(ttlMs) && ttlMs > 0) return;
  throw new MeshError('invalid_argument', `the time to keep ${what} must be whole ms above 0, not ${ttlMs}`);
}
