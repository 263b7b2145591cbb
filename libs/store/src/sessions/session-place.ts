import type { Keys } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import type { AppState } from './app-state.ts';
import type { RetentionOf } from './retention.ts';

/** The place where sessions lie, and how long they stay there: all parts of the session service share it. */
export interface SessionPlace {
  connection: RedisConnection;
  keys: Keys;
  app: AppState;
  /** How long the record of an invocation is kept after its last write, and after its end, ms. */
  invocationTtlMs: { running: number; ended: number };
  /** How long sessions of an app are kept, and how much of them. */
  retention: RetentionOf;
}
