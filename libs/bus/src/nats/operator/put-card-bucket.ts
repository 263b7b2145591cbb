import type { Subjects } from '@agentmesh/protocol';
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  type StorageType,
} from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { type NatsConnection, nanos } from '@nats-io/nats-core';
import { readBucket, republishOf } from '../buckets/card-bucket.ts';
import { isMissing } from '../wire/nats-errors.ts';
import { duplicateWindowMs, putStream } from './put-stream.ts';

/**
 * Makes or updates the bucket of cards, whose changes the server publishes. A bucket that does not publish them is
 * made anew with its cards, because nats-server 2.9 cannot add this to a stream.
 *
 * Each service writes its card here. With a rollup, its message could remove the cards of all others, so the bucket
 * takes none: a key-value client can put and delete keys, and cannot purge them.
 */
export async function putCardBucket(
  connection: NatsConnection,
  manager: JetStreamManager,
  subjects: Subjects,
  { storage, replicas }: { storage: StorageType; replicas: number },
): Promise<void> {
  const { cardBucket } = subjects;
  const name = `KV_${cardBucket}`;
  const cards = await cardsOfSilentBucket(connection, manager, cardBucket);
  if (cards) await manager.streams.delete(name);
  await putStream(manager, {
    name,
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
  const bucket = await new Kvm(connection).open(cardBucket);
  for (const [key, card] of cards ?? []) await bucket.put(key, card);
}

/** Returns the contents of a bucket that does not publish its changes; undefined when there is none. */
async function cardsOfSilentBucket(
  connection: NatsConnection,
  { streams }: JetStreamManager,
  bucket: string,
): Promise<Map<string, Uint8Array> | undefined> {
  try {
    const { config } = await streams.info(`KV_${bucket}`);
    return config.republish ? undefined : await readBucket(connection, bucket);
  } catch (thrown) {
    if (thrown instanceof JetStreamApiError && isMissing(thrown)) return undefined;
    throw thrown;
  }
}
