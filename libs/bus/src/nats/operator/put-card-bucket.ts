import type { Subjects } from '@agentmesh/protocol';
import { DiscardPolicy, type JetStreamManager, RetentionPolicy, type StorageType } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { republishOf } from '../buckets/card-bucket.ts';
import { duplicateWindowMs, putStream } from './put-stream.ts';

/**
 * Makes or updates the bucket of cards, whose changes the server publishes.
 *
 * Each service writes its card here. With a rollup, its message could remove the cards of all others, so the bucket
 * takes none: a key-value client can put and delete keys, and cannot purge them.
 */
export async function putCardBucket(
  manager: JetStreamManager,
  subjects: Subjects,
  { storage, replicas }: { storage: StorageType; replicas: number },
): Promise<void> {
  const { cardBucket } = subjects;
  await putStream(manager, {
    name: `KV_${cardBucket}`,
    subjects: [`$KV.${cardBucket}.>`],
    retention: RetentionPolicy.Limits,
    storage,
    num_replicas: replicas,
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.New,
    allow_rollup_hdrs: false,
    deny_delete: true,
    deny_purge: true,
    allow_direct: true,
    duplicate_window: nanos(duplicateWindowMs),
    republish: republishOf(subjects),
  });
}
