export type { CallResults, OtherHolder, TakenCall } from './calls/call-results.ts';
export type { FinishedJob, JobProgress, JobRecords, TakenJob } from './calls/job-records.ts';
export type { ConnectionOptions, RedisConnection } from './connection/redis-connection.ts';
export { connectRedis } from './connection/redis-connection.ts';
export { provisionRedis } from './functions.ts';
export type { MemoryOptions, RedisStore, RedisStoreOptions } from './redis-store.ts';
export { connectRedisStore } from './redis-store.ts';
export type { Retention, RetentionOf } from './sessions/scripts/retention.ts';
