export type { CallClaim, CallResults } from './call-results.ts';
export type { FinishedJob, JobProgress, JobRecords, TakenJob } from './job-records.ts';
export type { ConnectionOptions, RedisConnection } from './redis-connection.ts';
export { connectRedis } from './redis-connection.ts';
export type { MemoryOptions, RedisStore, RedisStoreOptions } from './redis-store.ts';
export { connectRedisStore } from './redis-store.ts';
export type { Retention, RetentionOf } from './retention.ts';
