import type { Keys } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import type { AppState } from './app-state.ts';
import type { RetentionOf } from './scripts/retention.ts';

/** The place and the retention of sessions, which all parts of the session service share. */
export interface SessionPlace {
  connection: RedisConnection;
  keys: Keys;
  app: AppState;
  /** Time for which the record of an invocation is kept after its last write, and after its end, ms. */
  invocationTtlMs: { running: number; ended: number };
  /** The time for which sessions of an app are kept, and the number of their events. */
  retention: RetentionOf;
}
