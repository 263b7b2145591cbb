import { type Keys, MeshError, type ToolResult } from '@agentmesh/protocol';
import { toJson } from './json.ts';
import type { RedisConnection } from './redis-connection.ts';
import { putCallScript } from './scripts.ts';

/** Results of remote tool calls by call id: a repeated call gets the first one's result. */
export interface CallResults {
  get(tool: string, callId: string): Promise<ToolResult | undefined>;
  /** Keeps a result for `ttlMs`, unless there is one. Returns the one that is kept: the first. @throws MeshError `invalid_argument` */
  put(tool: string, callId: string, result: ToolResult, ttlMs: number): Promise<ToolResult>;
}

export function callResults(connection: RedisConnection, keys: Keys): CallResults {
  return {
    async get(tool, callId) {
      const key = keys.call(tool, callId);
      const json = await connection.run((redis) => redis.hget(key, 'result'));
      return json === null ? undefined : (JSON.parse(json) as ToolResult);
    },
    async put(tool, callId, result, ttlMs) {
      if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0) {
        throw new MeshError(
          'invalid_argument',
          `the time to keep a result must be whole ms above 0, not ${ttlMs}`,
        );
      }
      const args = [toJson(result, 'the result'), ttlMs];
      return JSON.parse(
        await connection.script<string>(putCallScript, [keys.call(tool, callId)], args),
      ) as ToolResult;
    },
  };
}
