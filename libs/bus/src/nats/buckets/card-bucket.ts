import type { Subjects } from '@agentmesh/protocol';
import { type JetStreamManager, jetstreamManager, type Republish } from '@nats-io/jetstream';
import type { MsgHdrs, NatsConnection } from '@nats-io/nats-core';

const requestMs = 2_000;
const readsAtOnce = 32;
const operationHeader = 'KV-Operation';
const keyPattern = /^[-/=\w]+(\.[-/=\w]+)*$/;

/**
 * Returns the setting by which the server publishes every stored change of the cards. A service hears what is
 * stored, from the server, and not what another service sends to the bucket: nats-server passes a request that
 * comes from another account to no listener in a third account.
 */
export function republishOf({ cardBucket, allCardNews }: Subjects): Republish {
  return { src: entriesOf(cardBucket), dest: allCardNews };
}

/** Returns the part of the subjects of news before the key of the card. */
export function newsPrefixOf({ allCardNews }: Pick<Subjects, 'allCardNews'>): string {
  return allCardNews.slice(0, -1);
}

/** Returns the wildcard subject for the entries of a bucket. */
function entriesOf(bucket: string): string {
  return `$KV.${bucket}.>`;
}

/**
 * Returns the key of a subject of the bucket, or undefined when no key-value client could have written it.
 */
export function keyOf(bucket: string, subject: string): string | undefined {
  return keyAfter(`$KV.${bucket}.`, subject);
}

/** Returns the key after a prefix of a subject. See {@link keyOf}. */
export function keyAfter(prefix: string, subject: string): string | undefined {
  const key = subject.startsWith(prefix) ? subject.slice(prefix.length) : '';
  return keyPattern.test(key) ? key : undefined;
}

/** Tells whether a message of the bucket removes its key. */
export function isRemoval(headers: MsgHdrs | undefined): boolean {
  return ['DEL', 'PURGE'].includes(headers?.get(operationHeader) ?? '');
}

/**
 * Reads the whole bucket without a consumer. A service with the right to make consumers could let them
 * deliver to the subjects of other services.
 *
 * @throws the client's errors
 */
export async function readBucket(
  connection: NatsConnection,
  bucket: string,
): Promise<Map<string, Uint8Array>> {
  const stream = `KV_${bucket}`;
  // `checkAPI` would ask for the account's limits, for which the service would need another right.
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: requestMs });
  const { state } = await manager.streams.info(stream, { subjects_filter: entriesOf(bucket) });
  const subjects = Object.keys(state.subjects ?? {});
  const values = new Map<string, Uint8Array>();
  for (let at = 0; at < subjects.length; at += readsAtOnce) {
    const batch = subjects.slice(at, at + readsAtOnce);
    await Promise.all(batch.map((subject) => readInto(values, manager, bucket, subject)));
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
  // Not a direct get: that would send the stored message with its headers to any subject that the requester
  // names.
  const message = await manager.streams.getMessage(`KV_${bucket}`, { last_by_subj: subject });
  if (message && !isRemoval(message.header)) values.set(key, message.data);
}
