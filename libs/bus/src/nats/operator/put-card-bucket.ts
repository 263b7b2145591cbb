import type { Subjects } from '@agentmesh/protocol';
import { JetStreamApiError, type JetStreamManager, type StorageType } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import { readBucket, republishOf } from '../buckets/card-bucket.ts';
import { isMissing } from '../wire/nats-errors.ts';

/**
 * Makes the bucket of cards, whose changes the server publishes. A bucket that does not publish them is made
 * anew with its cards, because nats-server 2.9 cannot add this to a stream.
 */
export async function putCardBucket(
  connection: NatsConnection,
  manager: JetStreamManager,
  subjects: Subjects,
  storing: { storage: StorageType; replicas: number },
): Promise<void> {
  const { cardBucket } = subjects;
  const republish = republishOf(subjects);
  const cards = await cardsOfSilentBucket(connection, manager, cardBucket);
  if (cards) await manager.streams.delete(`KV_${cardBucket}`);
  const bucket = await new Kvm(connection).create(cardBucket, { history: 1, republish, ...storing });
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
