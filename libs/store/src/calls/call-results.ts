import { type Keys, keptJson, MeshError, shortId, type ToolResult, toJson } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { forgetCallScript, putCallScript, releaseCallScript, takeCallScript } from './call-scripts.ts';

/** Another holder of the work of a call or job. */
export interface OtherHolder {
  state: 'busy';
  holder: string;
  /** True if the lease was not renewed in time: now it is worth asking whether the holder's process is gone. */
  isLapsed: boolean;
}

/**
 * The result of a try for the lease on a call's work: this holder has it, the work is done, or another holder
 * has it.
 */
export type TakenCall = { state: 'taken' } | { state: 'done'; result: ToolResult } | OtherHolder;

/** Results of remote tool calls by call id: a repeated call gets the result of the first call. */
export interface CallResults {
  get(tool: string, callId: string): Promise<ToolResult | undefined>;
  /**
   * Keeps a result for `ttlMs`, unless the call has a result already. Returns the kept result, which is the
   * first result. Ends the lease on the work, no matter which process holds it.
   *
   * @throws MeshError `invalid_argument`, also for a result that is too large
   */
  put(tool: string, callId: string, result: ToolResult, ttlMs: number): Promise<ToolResult>;
  /**
   * Takes the lease on a call's work for `leaseMs`, so that one of many concurrent repeats does the work. A
   * second call with the same holder renews the lease. A lease that has lapsed still keeps others out: its
   * holder may be paused, or unable to reach the store. Only `gone` opens it.
   *
   * @param holder names one process, as equal holders do not keep each other out
   * @param gone a holder whose process is known to be gone: its lease is taken over if it has lapsed
   * @throws MeshError `invalid_argument`
   */
  take(tool: string, callId: string, holder: string, leaseMs: number, gone?: string): Promise<TakenCall>;
  /** Gives up a lease without a result. Does nothing for the lease of another holder, or without a lease. */
  release(tool: string, callId: string, holder: string): Promise<void>;
  /**
   * Removes a result, or the lease on the work. With `final`, this result replaces the existing result or
   * lease for {@link forgottenMs}, so that no process that still works on the call can keep another result.
   *
   * @returns whether there was a result or a lease
   */
  forget(tool: string, callId: string, final?: ToolResult): Promise<boolean>;
}

/** Time for which a deleted call is remembered, so that it gets no new result, in ms. */
export const forgottenMs = 600_000;
/** Time for which a lease without a renewal is remembered, in ms. */
const heldMs = 86_400_000;

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
    async take(tool, callId, holder, leaseMs, gone = '') {
      assertTtl('a lease', leaseMs);
      const args = [holder, leaseMs, heldMs, gone];
      return takenCallOf(await connection.script<TakeReply>(takeCallScript, [keyOf(tool, callId)], args));
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

export type BusyReply = ['busy', holder: string, isLapsed: 0 | 1];
type TakeReply = ['taken'] | BusyReply | ['done', result: string];

function takenCallOf(reply: TakeReply): TakenCall {
  if (reply[0] === 'busy') return otherHolder(reply);
  return reply[0] === 'done' ? { state: 'done', result: resultOf(reply[1]) } : { state: 'taken' };
}

export function otherHolder([state, holder, isLapsed]: BusyReply): OtherHolder {
  return { state, holder, isLapsed: isLapsed === 1 };
}

function resultOf(json: string): ToolResult {
  return JSON.parse(json) as ToolResult;
}

function assertTtl(what: string, ttlMs: number): void {
  if (Number.isSafeInteger(ttlMs) && ttlMs > 0) return;
  throw new MeshError('invalid_argument', `the time to keep ${what} must be whole ms above 0, not ${ttlMs}`);
}
