import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { MsgHdrs, NatsConnection } from '@nats-io/nats-core';

const requestMs = 2_000;
const readsAtOnce = 32;
const operationHeader = 'KV-Operation';
const keyPattern = /^[-/=\w]+(\.[-/=\w]+)*$/;

/** The subjects on which the changes of a bucket go. */
export function changesOf(bucket: string): string {
  return `$KV.${bucket}.>`;
}

/** The key that a subject of the bucket stands for, if it is one that a key-value client could have written. */
export function keyOf(bucket: string, subject: string): string | undefined {
  const prefix = `$KV.${bucket}.`;
  const key = subject.startsWith(prefix) ? subject.slice(prefix.length) : '';
  return keyPattern.test(key) ? key : undefined;
}

/** Does a message of the bucket say that its key is gone? */
export function isRemoval(headers: MsgHdrs | undefined): boolean {
  return ['DEL', 'PURGE'].includes(headers?.get(operationHeader) ?? '');
}

/**
 * Reads the whole bucket without a consumer: who may make one of those may have it deliver to the subjects of others.
 *
 * @throws the client's errors
 */
export async function readBucket(
  connection: NatsConnection,
  bucket: string,
): Promise<Map<string, Uint8Array>> {
  const stream = `KV_${bucket}`;
  // Without the check, which asks for the account's limits and would need a right of its own.
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: requestMs });
  const { state } = await manager.streams.info(stream, { subjects_filter: changesOf(bucket) });
  const subjects = Object.keys(state.subjects ?? {});
  const values = new Map<string, Uint8Array>();
  for (let at = 0; at < subjects.length; at += readsAtOnce) {
    const some = subjects.slice(at, at + readsAtOnce);
    await Promise.all(some.map((subject) => readInto(values, manager, bucket, subject)));
  }
  return values;
}

async function readInto(
  values: Map<string, Uint8Array>,
  manager: JetStreamManager,
  bucket: string,
  subject: string,
): Promise<void> {
  const key = keyOf(bucket, subject);
  if (key === undefined) return;
  // Not a direct get: that one sends what was stored, headers and all, to whatever subject the asker names.
  const message = await manager.streams.getMessage(`KV_${bucket}`, { last_by_subj: subject });
  if (message && !isRemoval(message.header)) values.set(key, message.data);
}
